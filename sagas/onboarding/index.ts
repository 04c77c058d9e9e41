// A NEW CUSTOMER: an account, a licence, then the contract that starts billing. Shows a step with nothing to undo, the
// application's own error codes, and a step after the pivot that may take days.

import { defineSaga, pivot, step, TerminalError } from "rubicon-saga";
import { z } from "zod";
import type { Outside } from "../outside.js";

/** `outside`: identity checks, accounts, licences, billing and mail. */
export function onboarding(outside: Outside) {
  const screenCustomer = step({
    name: "screen-customer",
    // Asking changes nothing out there.
    nothingToUndo: true,
    run: async (customer: { email: string; country: string }, { key, signal }) => {
      if (!servedCountries.has(customer.country))
        throw new TerminalError(`we don't serve ${customer.country}`, { code: "onboarding.country_not_served" });
      const { id } = await outside.call("screen-customer", { key, signal, body: { email: customer.email } });
      return { screeningId: id };
    },
  });

  const createAccount = step({
    name: "create-account",
    run: async (customer: { email: string; screeningId: string }, { key, signal }) => {
      const { id } = await outside.call("create-account", { key, signal, body: { email: customer.email } });
      return { accountId: id };
    },
    compensate: (_customer, { forwardKey }) => outside.revoke(forwardKey),
  });

  const assignLicence = step({
    name: "assign-licence",
    run: async (customer: { accountId: string; plan: "solo" | "team" }, { key, signal }) => {
      const { accountId, plan } = customer;
      const { id } = await outside.call("assign-licence", { key, signal, body: { accountId, plan } });
      return { licenceId: id };
    },
    compensate: (_customer, { forwardKey }) => outside.revoke(forwardKey),
  });

  const openBilling = pivot({
    name: "open-billing",
    run: async (customer: { accountId: string; plan: "solo" | "team" }, { key, signal }) => {
      const { id } = await outside.call("open-billing", { key, signal, body: { accountId: customer.accountId } });
      return { contractId: id };
    },
    reconcile: async (_customer, { key }) => {
      const contract = await outside.settle(key);
      return contract === undefined ? { happened: false } : { happened: true, output: { contractId: contract.id } };
    },
  });

  const sendWelcome = step({
    name: "send-welcome",
    run: async (customer: { email: string; contractId: string }, { key, signal }) => {
      await outside.call("send-welcome", { key, signal, body: { to: customer.email } });
    },
  });

  const tellSales = step({
    name: "tell-sales",
    run: async (customer: { email: string; contractId: string }, { key, signal }) => {
      await outside.call("tell-sales", { key, signal, body: { contractId: customer.contractId } });
    },
    // Past the pivot there is no giving up. The sales desk's system sleeps at night: no need to knock every second.
    retry: { firstDelay: "1s", maxDelay: "1h" },
  });

  return defineSaga({
    name: "onboarding",
    version: 1,
    input: z.object({ email: z.email(), country: z.string().length(2), plan: z.enum(["solo", "team"]) }),
    steps: [screenCustomer, createAccount, assignLicence, openBilling, sendWelcome, tellSales],
    maxDuration: "1h",
  });
}

const servedCountries: ReadonlySet<string> = new Set(["AT", "CH", "DE", "FR", "NL"]);
