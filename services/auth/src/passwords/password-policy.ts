import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { WEAKNESS_SENTENCES, weakPassword } from '../errors.ts'
import { passwordMissingAtSignUp, passwordTooLong } from '../request-errors.ts'

/** The requirements for a new password. The hash limits the length in every policy. */
export interface PasswordPolicy {
  /** In code points, at least 6. */
  readonly lengthMin: number
  /** A password needs at least one character of each set. */
  readonly requiredCharacters: readonly string[]
  /** Lower-case words that are easy to guess for this service. A password must be long enough without them. */
  readonly forbiddenWords: readonly string[]
  /** Common passwords in lower case. If the set is empty, runs and repetitions are allowed too. */
  readonly common: ReadonlySet<string>
}

/** The reasons for a weak password in responses. */
export type WeakPasswordReason = 'length' | 'characters' | 'pwned'

export type PasswordVerdict =
  | { readonly verdict: 'accepted' }
  /** Longer than 72 bytes. Imported bcrypt hashes would ignore the rest, so this is checked before the policy. */
  | { readonly verdict: 'too-long' }
  | WeakPassword

/** `message` contains one sentence for each reason, separated by spaces. */
export interface WeakPassword {
  readonly verdict: 'weak'
  readonly message: string
  readonly reasons: readonly WeakPasswordReason[]
}

/** The greatest length of a password, in UTF-8 bytes. */
const PASSWORD_BYTES_MAX = 72

/** Requires a password to meet the policy (reference: Password policy). */
export function requirePassword(policy: PasswordPolicy, password: string): void {
  requireShortPassword(password)
  const judged = checkPasswordPolicy(policy, password)
  if (judged.verdict === 'weak') throw toWeakPasswordError(judged)
}

/** Requires a sign-up to have a password. Does not check the policy. */
export function requireSignUpPassword(password: string | undefined): string {
  if (!password) throw passwordMissingAtSignUp()
  return password
}

/** An admin may set a password that the policy rejects, but no hash may ignore a part of it. */
export function requireShortPassword(password: string): void {
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) throw passwordTooLong()
}

/** The error for a breached password. */
export function commonPasswordError(): HttpError {
  return toWeakPasswordError(toWeakPassword([GUESSABLE]))
}

/** Checks a password. The order of the sentences is the order in responses (reference: Password policy). */
export function checkPasswordPolicy(policy: PasswordPolicy, password: string): PasswordVerdict {
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) return { verdict: 'too-long' }
  const weaknesses = [
    ...lengthWeakness(policy, password),
    ...characterWeakness(policy, password),
    ...(isEasyToGuess(policy, password) ? [GUESSABLE] : []),
  ]
  return weaknesses.length === 0 ? { verdict: 'accepted' } : toWeakPassword(weaknesses)
}

/** Parses PASSWORD_REQUIRED_CHARACTERS: sets separated by `:`. A literal colon is `\:`. Empty sets are dropped. */
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
  sentence: WEAKNESS_SENTENCES.pwned,
}

function toWeakPassword(weaknesses: readonly Weakness[]): WeakPassword {
  return {
    verdict: 'weak',
    message: weaknesses.map(({ sentence }) => sentence).join(' '),
    reasons: weaknesses.map(({ reason }) => reason),
  }
}

function toWeakPasswordError({ message, reasons }: WeakPassword): HttpError {
  return weakPassword({ sentences: message }, { details: { weak_password: { reasons } } })
}

/** The greatest length of a repeated unit, and of a truncated common password at the end. */
const REST_LENGTH_MAX = 7

function isEasyToGuess({ common, forbiddenWords, lengthMin }: PasswordPolicy, password: string): boolean {
  // Full-width digits and letters are as easy to guess as the usual ones.
  const lower = password.normalize('NFKC').toLowerCase()
  if (common.size > 0 && (isRepeated(lower) || isMadeOfCommon(common, lower))) return true
  const rest = forbiddenWords.reduce((text, word) => text.replaceAll(word, ''), lower)
  return rest !== lower && [...rest].length < lengthMin
}

/** Whether a text repeats one short unit. The last repetition may be truncated. */
function isRepeated(text: string): boolean {
  const units = Array.from({ length: Math.min(REST_LENGTH_MAX, text.length >> 1) }, (_, last) =>
    text.slice(0, last + 1),
  )
  return units.some((unit) => unit.repeat(text.length).startsWith(text))
}

/** The least length of a run that counts as a common password. */
const RUN_LENGTH_MIN = 4

/** Whether a text is a run: one repeated character, or consecutive characters, as in `abcd` and `4321`. */
function isRun(text: string): boolean {
  const steps = new Set(Array.from(text.slice(1), (_, at) => text.charCodeAt(at + 1) - text.charCodeAt(at)))
  const [step = 2] = steps
  return text.length >= RUN_LENGTH_MIN && steps.size === 1 && Math.abs(step) <= 1
}

/**
 * Whether a text consists of common passwords and runs, of which the last may be truncated. Few long passwords are common by
 * themselves, so attackers try these combinations next.
 */
function isMadeOfCommon(common: ReadonlySet<string>, text: string): boolean {
  const ends = new Set([0])
  // The set grows during the loop, because a password may begin where another one ends.
  for (const start of ends) {
    for (let end = start + 1; end <= text.length; end += 1) {
      const part = text.slice(start, end)
      if (common.has(part) || isRun(part)) ends.add(end)
    }
  }
  if (ends.has(text.length)) return text !== ''
  const rests = [...ends].filter((end) => end > 0).map((end) => text.slice(end))
  const short = rests.filter((rest) => rest.length <= REST_LENGTH_MAX)
  return short.some((rest) => [...common].some((word) => word.startsWith(rest)))
}

function lengthWeakness({ lengthMin }: PasswordPolicy, password: string): Weakness[] {
  if ([...password].length >= lengthMin) return []
  return [{ reason: 'length', sentence: WEAKNESS_SENTENCES.length(lengthMin) }]
}

function characterWeakness({ requiredCharacters }: PasswordPolicy, password: string): Weakness[] {
  const characters = new Set(password)
  if (requiredCharacters.every((set) => [...set].some((character) => characters.has(character)))) return []
  return [{ reason: 'characters', sentence: WEAKNESS_SENTENCES.characters(requiredCharacters) }]
}
