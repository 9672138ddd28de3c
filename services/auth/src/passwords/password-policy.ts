/** What a password must have. */
export interface PasswordPolicy {
  /** In code points, at least 6. */
  readonly lengthMin: number
  /** A password needs at least one character of each set; each set is the list of its characters. */
  readonly requiredCharacters: readonly string[]
}

/** Why a password is weak, as clients see it. */
export type WeakPasswordReason = 'length' | 'characters'

export type PasswordVerdict =
  | { readonly verdict: 'accepted' }
  /** Longer than 72 bytes: refused before the policy, since bcrypt hashes that are imported would ignore the rest. */
  | { readonly verdict: 'too-long' }
  /** `message` holds one sentence a reason, joined by a space. */
  | { readonly verdict: 'weak'; readonly message: string; readonly reasons: readonly WeakPasswordReason[] }

/** The longest password, in bytes of UTF-8. */
export const PASSWORD_BYTES_MAX = 72

/** Judges a password. The order and the sentences are those of contract 7.8. */
export function checkPasswordPolicy(policy: PasswordPolicy, password: string): PasswordVerdict {
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) return { verdict: 'too-long' }
  const weaknesses = [...lengthWeakness(policy, password), ...characterWeakness(policy, password)]
  if (weaknesses.length === 0) return { verdict: 'accepted' }
  return {
    verdict: 'weak',
    message: weaknesses.map(({ sentence }) => sentence).join(' '),
    reasons: weaknesses.map(({ reason }) => reason),
  }
}

/**
 * Reads PASSWORD_REQUIRED_CHARACTERS: sets separated by `:`, where `\:` is a literal colon. Empty sets are dropped.
 */
export function parseRequiredCharacters(text: string): string[] {
  return text
    .split(/(?<!\\):/)
    .map((set) => set.replaceAll('\\:', ':'))
    .filter((set) => set !== '')
}

interface Weakness {
  readonly reason: WeakPasswordReason
  readonly sentence: string
}

function lengthWeakness({ lengthMin }: PasswordPolicy, password: string): Weakness[] {
  if ([...password].length >= lengthMin) return []
  return [{ reason: 'length', sentence: `Password should be at least ${lengthMin} characters.` }]
}

function characterWeakness({ requiredCharacters }: PasswordPolicy, password: string): Weakness[] {
  const characters = new Set(password)
  if (requiredCharacters.every((set) => [...set].some((character) => characters.has(character)))) return []
  const sets = requiredCharacters.join(', ')
  return [{ reason: 'characters', sentence: `Password should contain at least one character of each: ${sets}.` }]
}
