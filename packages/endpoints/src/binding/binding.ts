import type { Keywords } from './keywords.ts'

/** The place that gets the body of a request: among the keywords, behind the positionals, or nowhere but `this.request`. */
export type BodyUse = 'keywords' | 'positionals' | 'raw'

/** The object pattern of a parameter list, which receives the keywords. */
export interface KeywordPattern {
  /** The index of the object pattern among the parameters. */
  readonly index: number
  readonly required: readonly string[]
  /** Every key that the pattern names. */
  readonly known: ReadonlySet<string>
  /** `{ a, ...rest }`: accepts further keys. */
  readonly open: boolean
}

/** How the arguments of a handler are made. */
export interface Binding {
  /** How many positionals a path must have, and may have. */
  readonly min: number
  readonly max: number
  /** How many of them have a name. The rest counts as one. */
  readonly places: number
  /** The keywords of an undeclared handler. */
  readonly keywords: KeywordPattern | undefined
  readonly body: BodyUse
  /** Whether the handler takes a keyword of this name. */
  readonly knows: (name: string) => boolean
  /**
   * Makes the arguments of a call.
   * @throws ValidationError for invalid keywords or values, and for too few or too many positionals in the body
   */
  readonly bind: (positionals: readonly unknown[], keywords: Keywords) => Arguments | Promise<Arguments>
}

/** The arguments of a handler, in the order of its parameters. */
export type Arguments = readonly unknown[]

const NAME_LENGTH_MAX = 64

/** The path of an issue about a keyword. It is cut, because a client may send a very long name. */
export function issuePath(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX)
}
