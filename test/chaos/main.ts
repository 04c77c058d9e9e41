// `npm run chaos [seconds] [runs]`: five minutes and 2,000 sagas by default.

import { chaos } from "./chaos.js";

const seconds = Number(process.argv[2] ?? 300);
const runs = Number(process.argv[3] ?? 2_000);
const report = await chaos({ seconds, runs, restarts: 2, say: (line) => console.log(line) });
console.log(
  JSON.stringify({ ...report, faults: report.faults.slice(0, 20), faultCount: report.faults.length }, null, 2),
);
process.exit(report.faults.length === 0 ? 0 : 1);
