import type { Keywords } from './keywords.ts'

/** Where the body of a request goes: among the keywords, behind the positionals, or nowhere but `this.request`. */
export type BodyUse = 'keywords' | 'positionals' | 'raw'

/** The object pattern of a parameter list, which receives the keywords. */
export interface KeywordPattern {
  /** Where among the parameters the object pattern stands. */
  readonly index: number
  readonly required: readonly string[]
  /** Every key that the pattern names. */
  readonly known: ReadonlySet<string>
  /** `{ a, ...rest }`: keys that it does not name are taken too. */
  readonly open: boolean
}

/** How the arguments of one handler are made. */
export interface Binding {
  /** How many positionals a path must give, and may give. */
  readonly min: number
  readonly max: number
  /** How many of them have a name of their own; all that the rest takes are one. */
  readonly places: number
  /** The keywords by name, where no schema tells them. */
  readonly keywords: KeywordPattern | undefined
  readonly body: BodyUse
  /**
   * The arguments of the call.
   * @throws ValidationError when keywords or values do not fit, or the body gave too few or too many positionals.
   */
  readonly bind: (positionals: readonly unknown[], keywords: Keywords) => Arguments | Promise<Arguments>
}

export type Arguments = readonly unknown[]

/** What is said of a keyword or positional that is missing, and of a keyword that nothing takes. */
export const REQUIRED = 'is required'
export const UNKNOWN = 'is not known here'

const NAME_LENGTH_MAX = 64

/** The path of an issue about a keyword, which a client may have made very long. */
export function issuePath(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX)
}
