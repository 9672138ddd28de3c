import type { Html } from '@trestle/common/documents/html.ts'
import { hiddenField } from './form.ts'

/** A change that relies on facts which its question shows, such as the currency of an amount. */
export interface ReliesOnFacts<Shown> {
  /**
   * The facts of the object. Somebody else may change them before the form is sent: the form carries them, and the question is
   * shown again where they differ from those of now. Undefined: the change relies on none.
   */
  readonly reliesOn?: (shown: Shown) => Readonly<Record<string, string>>
}

const factName = (name: string) => `fact_${name}`

/** The hidden fields that carry the facts of a question into its form. */
export function factFields<Shown>({ reliesOn }: ReliesOnFacts<Shown>, shown: Shown): readonly Html[] {
  return Object.entries(reliesOn?.(shown) ?? {}).map(([name, fact]) => hiddenField(factName(name), fact))
}

/** Whether a form was opened for other facts than those of now, or does not say for which. */
export function isStale<Shown>(
  { reliesOn }: ReliesOnFacts<Shown>,
  shown: Shown,
  given: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(reliesOn?.(shown) ?? {}).some(([name, fact]) => given[factName(name)] !== fact)
}
