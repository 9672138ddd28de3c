// The texts of field errors (reference: Field errors), a part of the catalogue in errors.ts. A text follows the name of a field.
// Rules of a single endpoint are in errors.ts, with their codes.
//
// To find the rule behind an answer, search here for its text without the numbers. Then use the name on that line:
// - A name of the first paragraph, such as `tooBig`, stands for a check of zod itself: a bound or a type. Find the file below
//   routes/ for the URL of the request. Its schema has the field. The rule of `limit: must be at most 1000` is the field `limit`
//   there, or in the schema that the file imports. `explain` in requests/field-error.ts chooses the text.
// - For another name, such as `FIELD_TEXTS.notIban`, search for the name. It leads to the schema or function that refuses the
//   value.
//
// The plugin read-request stores the error as `request.problem`. `requireAccess` in access/require-access.ts throws it after the
// caller's access is checked. Routes without a key throw it themselves. plugins/checkout.ts throws it as an error of the
// checkout.

interface Limit {
  readonly max: number
}

interface Bound {
  readonly limit: number | bigint
}

/** The texts of all problems of a field. A function inserts values of the schema, but never values of the request. */
export const FIELD_TEXTS = {
  required: 'is required',
  invalid: 'is not valid',
  notString: 'must be a string',
  notInteger: 'must be an integer',
  notBoolean: 'must be a boolean',
  notObject: 'must be an object',
  notArray: 'must be an array',
  notOfType: (expected: string) => `must be a value of type ${expected}`,
  tooSmall: ({ limit }: Bound) => `must be at least ${limit}`,
  tooBig: ({ limit }: Bound) => `must be at most ${limit}`,
  tooShort: ({ limit }: Bound) => `must be at least ${limit} characters`,
  tooLong: ({ limit }: Bound) => `must be at most ${limit} characters`,
  unknownField: 'has a field that is unknown',
  unknownFields: (names: readonly string[]) => `has no field ${names.join(', ')}`,

  notUtf8: 'is not valid UTF-8',
  notJson: 'is not valid JSON',
  notPercentEncoded: 'is not valid percent-encoded UTF-8',
  forbiddenField: (name: string) => `must not have a field ${name}`,
  forbiddenName: 'is not an allowed name',
  givenTwice: 'is given more than once',
  tooManyFields: ({ max }: Limit) => `must have at most ${max} fields`,
  tooDeep: ({ max }: Limit) => `must not nest deeper than ${max} levels`,

  notStorable: 'must not contain U+0000 or lone surrogates',
  cardNumber: 'must not contain a card number',
  mostlyBlank: 'must have at least 2 characters that are not blanks',
  notEmail: 'must be an e-mail address',
  notWebsite: 'must be an http or https URL or a host name',
  notAscii: 'must be printable ASCII characters',
  notId: 'must be 24 hexadecimal digits',
  notUuid: 'must be a UUID',
  notCursor: 'must be a cursor of this list',
  notCardNumber: 'must be 10 to 19 digits',
  notWithinYears: 'must lie between the years 1970 and 9999',
  notDate: 'must be a date such as 2026-03-01',
  notCurrencyCode: 'must be three upper-case letters',
  notChargeable: 'must be a currency that can be charged',
  notFunding: 'must be a funding currency',
  notListed: 'must be a listed currency',
  notCountryCode: 'must be two upper-case letters',
  notCountry: 'must be a country code of ISO 3166-1',
  notIban: 'must be an IBAN',
  notLatin: 'must have letters or digits that Latin letters can stand for',
  notIbanOfCountry: 'must be an IBAN of its country',
  ibanDigitsWrong: 'must have right check digits',
  tooManyBytes: ({ max }: Limit) => `must be at most ${max} bytes`,
  noRate: 'has no exchange rate',
  keyUsed: 'was used with another body',

  notSameTransaction: 'must be the same as transactionId',
  besideTransaction: 'cannot be given beside a transaction',
  notReason: 'must be a known reason',
  notEventType: 'is not a type of event',
  notWebhookUrl: 'must be an https URL on port 443, 8443 or above 1023, without credentials',
  beforeFrom: 'must not be before from',
  tooLongAfterFrom: ({ max }: Limit) => `must be less than ${max} days after from`,
  notOneOfTwo: 'must have one of scheduled and repeat',
  neitherOfTwo: 'must be true for merchant or customer',
  notReturnUrl: 'must be an http or https URL without credentials',
  notOffered: 'is not offered',
  missingWithoutPlan: 'is required without plan and unplanned',
  missingBeforeEntry: 'is required before another entry',
  tooManyMinorUnits: ({ max }: { readonly max: bigint }) => `must be at most ${max} minor units`,
  notInFuture: 'must be in the future',
  notLater: 'must be later than the entry before it',
} as const
