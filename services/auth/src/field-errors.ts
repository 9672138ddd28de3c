import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { fieldInvalid } from './request-errors.ts'

// The part of the catalogue in errors.ts about single fields of a request. Its texts follow `<field>: ` in `fieldInvalid` and
// `bodyFieldInvalid` (reference: Request bodies). `users import` uses them for a line, and has further texts at the end.
//
// If a schema refuses a value, `fieldText` below chooses the text. To find the schema of an answer, search for the field with a
// colon (`email:`). It is in the file of the URL in `routes/`, or in the module of the body. To find the schemas that choose a
// text, search for its name (`FIELD_TEXTS.notHttps`).

interface Bound {
  readonly limit: unknown
  /** The unit of the limit with a leading space. Empty for a number. */
  readonly unit: string
}

/** The texts about a field. They may contain values of the schema, but never values of the request. */
export const FIELD_TEXTS = {
  notString: 'must be a string',
  notNumber: 'must be a number',
  notInteger: 'must be an integer',
  notBoolean: 'must be a boolean',
  notObject: 'must be an object',
  notList: 'must be a list',
  tooSmall: ({ limit, unit }: Bound) => `must be at least ${limit}${unit}`,
  tooBig: ({ limit, unit }: Bound) => `must be at most ${limit}${unit}`,
  notListed: (values: readonly unknown[]) => `must be one of ${values.join(', ')}`,
  notHttps: 'must be an https URL',
  urlParts: 'may have neither user nor fragment',
  tooManyEntries: 'must have at most 100 entries',
  identifier: 'must be custom: and up to 63 lower-case letters, digits, and : . _ -',
  base64url: 'must be base64url',
  uuid: 'must be a UUID',
  nilUuid: 'must not be the nil UUID',
  time: 'must be an RFC 3339 time with an offset',
  notBan: 'must be a duration above 0, such as 24h',
  nothingChanged: 'needs one of email, phone and password',
  unknownName: 'has a name that is not known',
  invalid: 'is not valid',
} as const

/** The texts for JSON types, by zod's names. */
const TYPES: Readonly<Record<string, string>> = {
  string: FIELD_TEXTS.notString,
  number: FIELD_TEXTS.notNumber,
  int: FIELD_TEXTS.notInteger,
  boolean: FIELD_TEXTS.notBoolean,
  object: FIELD_TEXTS.notObject,
  record: FIELD_TEXTS.notObject,
  array: FIELD_TEXTS.notList,
}

const FORMATS: Readonly<Record<string, string>> = { guid: FIELD_TEXTS.uuid, uuid: FIELD_TEXTS.uuid }

/** The units of a limit, by zod's name of the value. */
const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' }

/** The part of a zod issue that Fastify passes on. */
export interface SchemaIssue {
  readonly code: string
  readonly message: string
  readonly expected?: unknown
  readonly format?: unknown
  readonly origin?: unknown
  readonly minimum?: unknown
  readonly maximum?: unknown
  readonly values?: unknown
}

/** The texts that a schema may choose itself. */
const OWN_TEXTS: ReadonlySet<unknown> = new Set(Object.values(FIELD_TEXTS))

/** Returns the text for an issue. It never repeats zod's text, which may change with a release. */
export function fieldText(issue: SchemaIssue | undefined): string {
  if (issue === undefined) return FIELD_TEXTS.invalid
  const { code, message, expected, format, origin, minimum, maximum, values } = issue
  if (OWN_TEXTS.has(message)) return message
  const unit = UNITS[String(origin)] ?? ''
  switch (code) {
    case 'invalid_type':
      return TYPES[String(expected)] ?? FIELD_TEXTS.invalid
    case 'invalid_format':
      return FORMATS[String(format)] ?? FIELD_TEXTS.invalid
    case 'too_small':
      return FIELD_TEXTS.tooSmall({ limit: minimum, unit })
    case 'too_big':
      return FIELD_TEXTS.tooBig({ limit: maximum, unit })
    case 'invalid_value':
      return Array.isArray(values) ? FIELD_TEXTS.notListed(values) : FIELD_TEXTS.invalid
    case 'invalid_key':
    case 'unrecognized_keys':
      return FIELD_TEXTS.unknownName
    default:
      return FIELD_TEXTS.invalid
  }
}

/** The error for a refused field. `field` is its path with dots, or empty for the whole value. */
export function toFieldError(field: string, issue: SchemaIssue | undefined): HttpError {
  return fieldInvalid({ field, problem: fieldText(issue) })
}

/** Why `users import` refuses a line (reference: Import and export). It is not an HTTP answer, and quotes no line. */
export const IMPORT_TEXTS = {
  /** The parser's text mentions the request body, but an import reads lines. */
  unreadable: ({ problem }: { readonly problem: string }) => problem.replace('request body', 'the line'),
  memberInvalid: ({ field, problem }: { readonly field: string; readonly problem: string }) => `${field} ${problem}`,
  emailInvalid: ({ problem }: { readonly problem: string }) => `email: ${problem}`,
  phoneInvalid: ({ problem }: { readonly problem: string }) => `phone: ${problem}`,
  lineTooLong: 'is longer than a mebibyte',
  nobody: 'needs an id, an email or a phone',
  deleted: 'deleted_at says that the user was deleted: leave the line out, or its deleted_at',
  identityTwice: 'identities: one of them is there twice',
  identityWithoutId: ({ provider }: { readonly provider: string }) =>
    `identities: ${provider} needs the id of the account there`,
  idTooLarge: 'is a number that loses digits when it is read: write it in quotes',
  idTaken: 'the id belongs to another user here, with another email, phone, account and time of creation',
  emailTaken: 'the email belongs to another user',
  emailOfUnconfirmed: 'the email belongs to another user, who has not confirmed it: delete that user first',
  phoneOfUnconfirmed: 'the phone belongs to another user, who has not confirmed it: delete that user first',
  emailOfVerified: 'the email is not verified, and another user of the export has verified it',
  phoneOfVerified: 'the phone is not verified, and another user of the export has verified it',
  phoneTaken: 'the phone belongs to another user',
  accountTaken: ({ provider }: { readonly provider: string }) => `the identity of ${provider} belongs to another user`,
  hashTooLong: ({ max }: { readonly max: number }) => `password_hash is longer than ${max} characters`,
  hashUnknown: 'password_hash is of an unknown form, damaged, or costs too much to compare',
  firebaseForm: 'password_hash is no hash of Firebase',
  firebaseParametersMissing: 'password_hash needs the parameters of its Firebase project',
  firebaseKeyForeign: 'password_hash does not fit the signer key',
  firebaseParametersForeign: 'password_hash has parameters that are not those of Firebase',
} as const
