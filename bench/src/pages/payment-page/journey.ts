import { textsOf } from './stage.ts'
import type { Visit, Visitor } from './visitor.ts'

/** The acts of a customer, and the result that must follow. */
export interface Journey extends Visit {
  readonly name: string
  readonly go: (visitor: Visitor) => Promise<void>
}

const english = textsOf('en')

/** A text of the page in English. @throws Error when the page has no text of this name */
export function say(name: string): string {
  const text = english[name]
  if (text === undefined) throw new Error(`the page has no text ${name}`)
  return text
}
