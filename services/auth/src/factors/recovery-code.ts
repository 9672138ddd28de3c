import { createHmac } from 'node:crypto'
import { readDigits } from '../requests/typed-code.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import type { Factor } from './factor.ts'

/** A set of codes, which are shown this once. */
export interface RecoveryCodes {
  readonly factor: Factor
  readonly codes: readonly string[]
}

/** Letters and digits without 0 and 1, which look like letters. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz23456789'
const CODE_LENGTH = 16
const RANDOM_BYTES = 24
const CODES = 10

/** Generates a set of codes. Each comes from 192 random bits, so that its bias is below 2^-110. */
export function generateCodeSet(randomBytes: RandomBytes): readonly string[] {
  return Array.from({ length: CODES }, () => toCode(randomBytes(RANDOM_BYTES)))
}

function toCode(random: Buffer): string {
  let rest = BigInt(`0x${random.toString('hex')}`)
  const base = BigInt(ALPHABET.length)
  return Array.from({ length: CODE_LENGTH }, () => {
    const letter = ALPHABET.charAt(Number(rest % base))
    rest /= base
    return letter
  }).join('')
}

/** Normalises a typed code: case, white space, `-` and the script of digits do not matter. */
export function normaliseRecoveryCode(typed: string): string {
  return readDigits(typed)
    .toLowerCase()
    .replaceAll(/[\s\p{Cf}-]/gu, '')
}

/** The hash of a code, as it is stored (reference: Secrets at rest). @param code normalised */
export function hashRecoveryCode(serverKey: Buffer, factorId: string, code: string): Buffer {
  return createHmac('sha256', serverKey).update(`recovery-code\0${factorId}\0${code}`).digest()
}
