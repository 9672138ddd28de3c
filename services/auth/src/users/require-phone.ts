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

/** The digits by which a typed phone number is known, as `findPhone` finds them. */
export async function requirePhone(deps: PhoneDeps, typed: string): Promise<string> {
  return requireDigits(await findPhone(deps, typed))
}

/** The email of a request, or its phone number where it has no email. */
export async function requireIdentifier(
  deps: PhoneDeps,
  body: { readonly email?: string | undefined; readonly phone?: string | undefined },
): Promise<UserIdentifier> {
  if (body.email) return { kind: 'email', value: requireEmail(body.email) }
  return { kind: 'phone', value: await requirePhone(deps, body.phone ?? '') }
}

/** The values that an admin or a user wants, with the digits by which their phone number is known. */
export async function readWantedPhone<Wanted extends { readonly phone: string | undefined }>(
  deps: PhoneDeps,
  wanted: Wanted,
): Promise<Wanted> {
  return wanted.phone === undefined ? wanted : { ...wanted, phone: await requirePhone(deps, wanted.phone) }
}

/** The digits of a typed phone number for a second factor: the digits of a factor of the user, or the parsed number. */
export async function requireFactorPhone(
  deps: PhoneDeps,
  { userId, typed }: { readonly userId: string; readonly typed: string },
): Promise<string> {
  return requireDigits(await chooseForm(deps, typed, (phone) => hasFactorPhone(deps.db, { userId, phone })))
}

/**
 * The digits by which a typed phone number is known (reference: Phone numbers): the digits of a test phone, or of a stored user,
 * or the parsed number. Undefined where the text is no number, or an impossible one.
 */
export function findPhone(deps: PhoneDeps, typed: string): Promise<string | undefined> {
  return chooseForm(deps, typed, (phone) => isPhoneStored(deps.db, phone))
}

/** @param isStored asked only where the digits are not the parsed number, so few requests ask the database */
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
