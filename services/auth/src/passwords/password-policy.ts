/** What a password must have. */
export interface PasswordPolicy {
  /** In code points, at least 6. */
  readonly lengthMin: number
  /** A password needs at least one character of each set; each set is the list of its characters. */
  readonly requiredCharacters: readonly string[]
  /** What is easy to guess in this place, lower-case: a password must be long enough without it. */
  readonly forbiddenWords: readonly string[]
  /** Passwords that many people have, lower-case. */
  readonly common: ReadonlySet<string>
}

/** Why a password is weak, as clients see it. */
export type WeakPasswordReason = 'length' | 'characters' | 'pwned'

export type PasswordVerdict =
  | { readonly verdict: 'accepted' }
  /** Longer than 72 bytes: refused before the policy, since bcrypt hashes that are imported would ignore the rest. */
  | { readonly verdict: 'too-long' }
  | WeakPassword

/** `message` holds one sentence a reason, joined by a space. */
export interface WeakPassword {
  readonly verdict: 'weak'
  readonly message: string
  readonly reasons: readonly WeakPasswordReason[]
}

/** The longest password, in bytes of UTF-8. */
export const PASSWORD_BYTES_MAX = 72

/** Judges a password. Clients see the sentences in this order (reference: Password policy). */
export function checkPasswordPolicy(policy: PasswordPolicy, password: string): PasswordVerdict {
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) return { verdict: 'too-long' }
  const weaknesses = [
    ...lengthWeakness(policy, password),
    ...characterWeakness(policy, password),
    ...(isEasyToGuess(policy, password) ? [GUESSABLE] : []),
  ]
  return weaknesses.length === 0 ? { verdict: 'accepted' } : toWeakPassword(weaknesses)
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

const GUESSABLE: Weakness = {
  reason: 'pwned',
  sentence: 'Password is known to be weak and easy to guess, please choose a different one.',
}

/** What is told of a password that others know. */
export const EASY_TO_GUESS: WeakPassword = toWeakPassword([GUESSABLE])

function toWeakPassword(weaknesses: readonly Weakness[]): WeakPassword {
  return {
    verdict: 'weak',
    message: weaknesses.map(({ sentence }) => sentence).join(' '),
    reasons: weaknesses.map(({ reason }) => reason),
  }
}

function isEasyToGuess({ common, forbiddenWords, lengthMin }: PasswordPolicy, password: string): boolean {
  const lower = password.toLowerCase()
  if (isStrungTogether(common, lower)) return true
  const rest = forbiddenWords.reduce((text, word) => text.replaceAll(word, ''), lower)
  return rest !== lower && [...rest].length < lengthMin
}

/** A rest of so many characters may be the beginning of another common password. */
const REST_LENGTH_MAX = 7

/**
 * Whether a text is a common password, or several of them, the last of which may be cut short: few long passwords are common
 * by themselves, and these are what is guessed next.
 */
function isStrungTogether(common: ReadonlySet<string>, text: string): boolean {
  const ends = new Set([0])
  // The set grows meanwhile: what begins where another ends is looked at in its turn.
  for (const start of ends) {
    for (let end = start + 1; end <= text.length; end += 1) if (common.has(text.slice(start, end))) ends.add(end)
  }
  if (ends.has(text.length)) return text !== ''
  const rests = [...ends].filter((end) => end > 0).map((end) => text.slice(end))
  const short = rests.filter((rest) => rest.length <= REST_LENGTH_MAX)
  return short.some((rest) => [...common].some((word) => word.startsWith(rest)))
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
