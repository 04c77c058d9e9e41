import { expect, it } from "vitest";
import { sha256 } from "../../../src/platform/digest.js";

it("a digest is SHA-256 of the UTF-8 bytes, in hex", () => {
  expect(sha256("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(sha256("é")).toBe("4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c");
});
