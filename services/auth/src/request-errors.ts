import { defineError } from '@trestle/common/errors/define-error.ts'

// Errors about invalid requests (reference: Error codes). The other errors are in errors.ts.

const invalid = (message: string) => defineError(400, 'validation_failed', message)

interface Limit {
  readonly max: number
}

/** The path of a field, joined by dots, and its problem. `field` is empty for the whole body. */
interface FieldProblem {
  readonly field: string
  readonly problem: string
}

export const malformedRequest = invalid('Malformed request')
export const unsupportedContentType = invalid('Unsupported content type')
export const requestTooLarge = defineError(
  413,
  'request_entity_too_large',
  ({ bytesMax }: { readonly bytesMax: number }) => `Request body too large (max ${bytesMax} bytes)`,
)
export const unstorableText = invalid('Text may not contain NUL characters or lone surrogates')
export const fieldInvalid = defineError(400, 'validation_failed', ({ field, problem }: FieldProblem) =>
  field === '' ? problem : `${field}: ${problem}`,
)

export const bodyEmpty = defineError(400, 'bad_json', 'Could not parse request body as JSON: the body is empty')
export const bodyNotUtf8 = defineError(400, 'bad_json', 'Could not parse request body as JSON: the body is not UTF-8')
export const bodyNotJson = defineError(400, 'bad_json', 'Could not parse request body as JSON: the body is not JSON')
export const bodyNotJsonFrom = defineError(
  400,
  'bad_json',
  ({ character }: { readonly character: number }) =>
    `Could not parse request body as JSON: the body is not JSON from character ${character} on`,
)
export const bodyNotObject = defineError(
  400,
  'bad_json',
  'Could not parse request body as JSON: the body is not an object',
)
export const bodyTooDeep = defineError(
  400,
  'bad_json',
  ({ max }: Limit) => `Could not parse request body as JSON: nesting deeper than ${max} levels`,
)
export const tooManyMembers = defineError(
  400,
  'bad_json',
  ({ max }: Limit) => `Could not parse request body as JSON: more than ${max} members`,
)
export const tooManyFields = defineError(
  400,
  'bad_json',
  ({ max }: Limit) => `Could not parse request body as JSON: more than ${max} fields`,
)
export const bodyFieldInvalid = defineError(
  400,
  'bad_json',
  ({ field, problem }: FieldProblem) => `Could not parse request body as JSON: ${field}: ${problem}`,
)
export const formNotUtf8 = defineError(400, 'bad_json', 'Could not parse request body as a form: the body is not UTF-8')
export const tooManyFormFields = defineError(
  400,
  'bad_json',
  ({ max }: Limit) => `Could not parse request body as a form: more than ${max} fields`,
)

export const formFieldRepeated = defineError(
  400,
  'bad_json',
  'Could not parse request body as a form: a field is there twice',
)

export const malformedId = defineError(
  404,
  'validation_failed',
  ({ name }: { readonly name: string }) => `${name} must be an UUID`,
)
export const newUserIdMalformed = invalid('user_id must be an UUID')
export const newUserIdNil = invalid('user_id may not be the nil UUID')
export const newUserIdOther = invalid('id of the body is another one than that of the path')

export const pageOutOfRange = defineError(
  400,
  'validation_failed',
  ({ name, max }: Limit & { readonly name: string }) =>
    `Bad Pagination Parameters: ${name} must be an integer between 1 and ${max}`,
)
export const cursorMalformed = invalid('Bad Pagination Parameters: cursor is none of this list')
export const sortMalformed = defineError(
  400,
  'validation_failed',
  ({ sort }: { readonly sort: string | undefined }) => `Bad Sort Parameters: ${JSON.stringify(sort)}`,
)
export const auditQueryMalformed = defineError(
  400,
  'validation_failed',
  ({ query }: { readonly query: string }) => `Invalid query scope: ${query}`,
)

export const emailMissing = invalid('An email address is required')
export const emailTooLong = invalid('An email address is too long')
export const emailMalformed = invalid('Unable to validate email address: invalid format')
export const badEmailAtVerify = defineError(422, 'validation_failed', 'Invalid email format')
export const phoneMalformed = invalid('Invalid phone number format (E.164 required)')
export const twoAddressesAtSignUp = invalid('Only an email address or phone number should be provided on signup.')
export const twoAddressesAtSignIn = invalid('Only an email address or phone number should be provided on login.')
export const twoAddressesAtOtp = invalid('Only an email address or phone number should be provided')
export const twoAddressesAtResend = invalid('Only an email address or phone number should be provided.')
export const twoAddressesAtVerify = invalid('Only an email address or phone number should be provided on verify')
export const addressMissingAtSignIn = invalid('missing email or phone')
export const addressMissingAtOtp = invalid('One of email or phone must be set')
export const addressMissingAtResend = invalid('Missing email address or phone number')
export const addressMissingAtRecover = invalid('Password recovery requires an email')
export const addressMissingAtReauthentication = invalid(
  'Reauthentication requires the user to have an email or a phone number',
)
export const addressMissingForUser = invalid('Cannot create a user without either an email or phone')
export const magicLinkWithoutEmail = defineError(422, 'validation_failed', 'Magic link requires an email')
export const addressMissingToConfirm = defineError(422, 'validation_failed', 'The user has no address of this kind')
export const channelWithEmail = invalid('Channel should only be specified with Phone OTP')
export const channelUnsupported = invalid(
  "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio Verify is used as the provider.",
)

export const pkceAtPhoneSignUp = invalid('PKCE not supported for phone signups')
export const pkceIncomplete = invalid('PKCE flow requires code_challenge_method and code_challenge')
export const codeChallengeLength = defineError(
  400,
  'validation_failed',
  ({ min, max }: Limit & { readonly min: number }) => `code challenge has to be between ${min} and ${max} characters`,
)
export const codeChallengeCharacters = invalid(
  'code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes',
)
export const codeChallengeMethodUnsupported = defineError(
  400,
  'validation_failed',
  ({ codeChallengeMethod }: { readonly codeChallengeMethod: string }) =>
    `unsupported code_challenge_method ${JSON.stringify(codeChallengeMethod)}`,
)
export const authCodeMissing = invalid('invalid request: both auth code and code verifier should be non-empty')
export const refreshTokenMalformed = invalid('Refresh token is not valid')
export const oauthClientRequired = defineError(
  400,
  'invalid_client',
  'Client authentication required for OAuth session',
)
export const logoutScopeUnsupported = defineError(
  400,
  'validation_failed',
  ({ scope }: { readonly scope: string }) => `Unsupported logout scope "${scope}"`,
)

export const verifyTypeMissing = invalid('Verify requires a verification type')
export const verifyTypeUnsupported = invalid('Unsupported verification type')
export const mailTypeUnsupported = invalid('Invalid email verification type')
export const verifyTokenMissing = invalid('Verify requires a token or a token hash')
export const verifyTokenUnclear = invalid('Verify requires either a token or a token hash')
export const tokenHashNotAlone = invalid('Only the token_hash and type should be provided')
export const resendTypeUnsupported = defineError(
  400,
  'validation_failed',
  ({ types }: { readonly types: readonly string[] }) => `Missing one of these types: ${types.join(', ')}`,
)
export const resendEmailMissing = invalid('Type provided requires an email address')
export const resendPhoneMissing = invalid('Type provided requires a phone number')
export const linkTypeUnsupported = defineError(
  400,
  'validation_failed',
  ({ type }: { readonly type: string }) => `Invalid email action link type requested: ${type}`,
)

export const audienceUnknown = invalid('X-JWT-AUD names no audience of this service')
export const audienceTooLong = defineError(
  400,
  'validation_failed',
  ({ max }: Limit) => `An audience may not be longer than ${max} characters`,
)
export const roleTooLong = defineError(
  400,
  'validation_failed',
  ({ max }: Limit) => `A role may not be longer than ${max} characters`,
)
export const metadataTooLarge = defineError(
  400,
  'validation_failed',
  ({ max }: Limit) =>
    `user_metadata and app_metadata together may not be larger than ${max} bytes, because access tokens hold them`,
)
export const banDurationMalformed = defineError(
  400,
  'validation_failed',
  ({ duration }: { readonly duration: string }) =>
    `invalid format for ban duration: time: invalid duration ${JSON.stringify(duration)}`,
)

export const passwordMissingAtSignUp = invalid('Signup requires a valid password')
export const passwordMissingAtVerify = invalid('Password is required')
export const passwordTooLong = invalid('Password cannot be longer than 72 characters')
export const passwordWithHash = invalid('Only a password or a password hash should be provided')
export const passwordHashAtUpdate = invalid('A password hash can only be given when a user is created')
export const passwordHashUnsupported = invalid('password_hash must be an argon2id, argon2i or bcrypt hash')
export const passwordHashTooLong = defineError(
  400,
  'validation_failed',
  ({ max }: Limit) => `password_hash may not be longer than ${max} characters`,
)
