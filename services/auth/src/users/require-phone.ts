import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { SmsConfig } from '../config/sms.ts'
import type { Db } from '../database.ts'
import { phoneMalformed } from '../request-errors.ts'
import { normalisePhone, readTypedPhone, requireEmail, type UserIdentifier } from '../requests/fields.ts'
import { hasFactorPhone, isPhoneStored } from './user-repository.ts'

export interface PhoneDeps {
  readonly config: {
    readonly compatibility: Pick<CompatibilityOptions, 'parsePhones'>
    readonly sms: Pick<SmsConfig, 'testCodes'>
  }
  readonly db: Db
}

/** Returns the digits of a typed phone number as `findPhone` does. Fails if there are none. */
export async function requirePhone(deps: PhoneDeps, typed: string): Promise<string> {
  return requireDigits(await findPhone(deps, typed))
}

/** Returns the email of a request, or its phone number if it has no email. */
export async function requireIdentifier(
  deps: PhoneDeps,
  body: { readonly email?: string | undefined; readonly phone?: string | undefined },
): Promise<UserIdentifier> {
  if (body.email) return { kind: 'email', value: requireEmail(body.email) }
  return { kind: 'phone', value: await requirePhone(deps, body.phone ?? '') }
}

/** Returns an admin's or a user's wanted values, with the digits of the phone number. */
export async function readWantedPhone<Wanted extends { readonly phone: string | undefined }>(
  deps: PhoneDeps,
  wanted: Wanted,
): Promise<Wanted> {
  return wanted.phone === undefined ? wanted : { ...wanted, phone: await requirePhone(deps, wanted.phone) }
}

/** Returns the digits of a second factor's phone: those of an existing factor of the user, or the parsed number. */
export async function requireFactorPhone(
  deps: PhoneDeps,
  { userId, typed }: { readonly userId: string; readonly typed: string },
): Promise<string> {
  return requireDigits(await chooseForm(deps, typed, (phone) => hasFactorPhone(deps.db, { userId, phone })))
}

/**
 * Returns the digits of a typed phone number (reference: Phone numbers): those of a test phone or a stored user, or the parsed
 * number. Returns `undefined` if the text is not a possible number.
 */
export function findPhone(deps: PhoneDeps, typed: string): Promise<string | undefined> {
  return chooseForm(deps, typed, (phone) => isPhoneStored(deps.db, phone))
}

/** @param isStored called only if the digits differ from the parsed number, so few requests query the database */
async function chooseForm(
  { config }: Pick<PhoneDeps, 'config'>,
  text: string,
  isStored: (digits: string) => Promise<boolean>,
): Promise<string | undefined> {
  if (!config.compatibility.parsePhones) return normalisePhone(text)
  const typed = readTypedPhone(text)
  if (typed === undefined || typed.digits === typed.parsed) return typed?.digits
  const isKnown = config.sms.testCodes.has(typed.digits) || (await isStored(typed.digits))
  return isKnown ? typed.digits : typed.parsed
}

function requireDigits(digits: string | undefined): string {
  if (digits === undefined) throw phoneMalformed()
  return digits
}
