/** How a requirement stands, where tests alone do not tell. */
export type Standing =
  /** It asks for words: a page from the root of the repository, with the heading. */
  { readonly documented: string } | Deviation | { readonly notApplicable: string }

/** What is not met by default, and why. */
export interface Deviation {
  readonly deviation: string
  /** What the strict profile does about it. */
  readonly strict?: string
  /** The strict profile leaves something of it. */
  readonly isPartial?: true
}

/** A requirement of the OWASP Application Security Verification Standard 5.0.0, in our words. */
export interface Requirement {
  readonly id: string
  readonly level: 1 | 2
  readonly asks: string
  readonly standing: Standing | undefined
}

export interface Chapter {
  readonly title: string
  readonly requirements: readonly Requirement[]
}

/** A row of a chapter. What has no standing is met, as its tests show. */
export type Row = readonly [id: string, level: 1 | 2, asks: string, standing?: Standing]

export function chapter(title: string, rows: readonly Row[]): Chapter {
  return { title, requirements: rows.map(([id, level, asks, standing]) => ({ id, level, asks, standing })) }
}
