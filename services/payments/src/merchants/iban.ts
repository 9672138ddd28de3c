import { isValidIBAN } from 'ibantools'
import sepa from './sepa.json' with { type: 'json' }

/** The library that has the form of IBANs of each country, and the day of its release. */
export const IBAN_DATA = { name: 'ibantools 4.5.4', asOf: '2026-04-11' } as const

/** The IBAN without spaces, in upper case. */
export function normaliseIban(text: string): string {
  return text.replaceAll(/\s/g, '').toUpperCase()
}

/** Whether a normalised text has the shape of an IBAN (ISO 13616): country, check digits, 4 to 30 letters or digits. */
export function hasIbanShape(iban: string): boolean {
  return /^[A-Z]{2}[0-9]{2}[A-Z0-9]{4,30}$/.test(iban)
}

/** Whether the check digits of a well-shaped IBAN are right (ISO 13616, mod 97-10). */
export function hasIbanChecksum(iban: string): boolean {
  const rearranged = iban.slice(4) + iban.slice(0, 4)
  // A letter counts as its position plus ten: A is 10, Z is 35.
  const digits = rearranged.replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55))
  return BigInt(digits) % 97n === 1n
}

/**
 * Whether money can be sent to a normalised IBAN: its country has IBANs, and length, form and check digits are those of the
 * country (IBAN registry of SWIFT). Accounts of French and Finnish territories begin with FR and FI.
 */
export function isPayableIban(iban: string): boolean {
  return isValidIBAN(iban) && !sepa.territories.includes(iban.slice(0, 2))
}

/** Whether a SEPA credit transfer reaches the account (EPC409-09). */
export function isSepaIban(iban: string): boolean {
  return sepa.codes.includes(iban.slice(0, 2))
}

/** Whether the account is in the European Economic Area, whose banks pass on no address of a payer (Regulation (EU) 2015/847). */
export function isEeaIban(iban: string): boolean {
  return isSepaIban(iban) && !sepa.outsideEea.includes(iban.slice(0, 2))
}
