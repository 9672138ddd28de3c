/** A value that the code uses, and its meaning for readers of the documents. */
export interface Choice {
  readonly value: string | number | boolean
  readonly words: string
}

/** A compatibility option. Without a value of its own, the strict profile uses the value of the compatible profile. */
export interface CompatibilityOption {
  readonly subject: string
  readonly compatible: Choice
  readonly supabase: Choice
  readonly strict?: Choice
  /** The reason why the profile supabase differs. */
  readonly reason: string
}

export type OptionRows = Readonly<Record<string, CompatibilityOption>>

/** A behaviour of supabase/auth that this service does not follow in any profile. */
export interface KeptDifference {
  readonly subject: string
  readonly ours: string
  readonly theirs: string
  readonly reason: string
}

/** Returns a choice whose type is the literal value, so that the code can narrow by it. */
export const is = <const V extends Choice['value']>(
  value: V,
  words: string,
): { readonly value: V; readonly words: string } => ({
  value,
  words,
})
