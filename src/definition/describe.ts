// A SAGA AS PEOPLE READ IT.
import type { SagaDefinition } from "./saga.js";
export function describeSaga(saga: SagaDefinition): { mermaid: string; text: string } {
  return { mermaid: saga.name, text: saga.name };
}
