/** A value that the code asks for, and its meaning for a reader of the documents. */
export interface Choice {
  readonly value: string | number | boolean
  readonly words: string
}

/** One compatibility option. The strict profile behaves as the compatible one, unless it has a value of its own. */
export interface CompatibilityOption {
  readonly subject: string
  readonly compatible: Choice
  readonly supabase: Choice
  readonly strict?: Choice
  /** Why the profile supabase differs. */
  readonly reason: string
}

export type OptionRows = Readonly<Record<string, CompatibilityOption>>

/** A trait of supabase/auth that this service does not follow in any profile. */
export interface KeptDifference {
  readonly subject: string
  readonly ours: string
  readonly theirs: string
  readonly reason: string
}

/** A choice whose type is its value, so that the code can ask for it by type. */
export const is = <const V extends Choice['value']>(
  value: V,
  words: string,
): { readonly value: V; readonly words: string } => ({
  value,
  words,
})
