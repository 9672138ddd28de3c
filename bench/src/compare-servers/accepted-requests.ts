import type { Accepted } from './compare.ts'

const NO_500 = 'Bad input gets 400, 409 or 422, instead of 500 with the text of PostgreSQL.'
const CHANNEL = 'A channel that does not exist or cannot be used is refused, instead of being ignored.'
const FORM = 'A body that is no JSON object of the right types is refused as such, whatever else is wrong with it.'

const FILLED = 'Calls of hooks name the user as after the request, theirs as before it.'
const CHANGE_IS_NO_PROOF =
  'A session of a new address does not count as one by a code: it could set a password without the current one.'
const UNLINKED =
  'The identity of a confirmed email cannot be unlinked: a stolen session could move the account to another address.'

/** Requests that auth deliberately answers differently. */
export const requests: readonly Accepted[] = [
  { at: '*', path: 'status', theirs: '500 unexpected_failure', ours: '400 validation_failed', reason: NO_500 },
  { at: '*', path: 'status', theirs: '500 23505', reason: NO_500 },
  { at: 'hooks / * / call of BEFORE_USER_CREATED', path: 'user.*', reason: FILLED },
  {
    at: 'hooks / *|* / the SMS *',
    path: 'user.confirmation_sent_at|user.recovery_sent_at|user.reauthentication_sent_at|user.email_change_sent_at',
    theirs: undefined,
    reason: FILLED,
  },
  {
    at: 'hooks / *|* / the SMS *',
    path: 'user.phone_change_sent_at|user.invited_at',
    theirs: undefined,
    reason: FILLED,
  },
  { at: '* / the SMS', path: 'user.factors.*.last_challenged_at', theirs: null, reason: FILLED },
  {
    at: 'hooks / * / mail of reauthenticate',
    path: 'email_data.token_hash',
    ours: '',
    reason: 'No link can reauthenticate, so there is none.',
  },
  {
    at: 'hooks / * / mail of the new password',
    path: 'metadata.ip_address',
    ours: '',
    reason: 'A notification is sent by the queue.',
  },
  {
    at: 'hooks / *',
    path: 'headers.x-sb-error-code',
    theirs: undefined,
    reason: 'Ours is a superset: the header names the code of refusals and failures of hooks too.',
  },
  {
    at: 'hooks / * / sign up refused11',
    path: 'status',
    ours: '403 unknown',
    reason: 'A refusal by a hook counts, whatever the status of its answer.',
  },
  { at: '*channel*', path: 'status', theirs: '200', ours: '400 validation_failed', reason: CHANNEL },
  {
    at: '* / phone factors / what is left at the end|* / codes by mail / what is left at the end',
    path: 'calls.0',
    theirs: 'SEND_SMS',
    ours: undefined,
    reason: CHANNEL,
  },
  {
    at: '* / linking / unlink the email',
    path: 'status',
    ours: '422 email_conflict_identity_not_deletable',
    reason: UNLINKED,
  },
  { at: '* / linking / GET /user of bert without email identity', path: 'body.*', reason: UNLINKED },
  {
    at: '* / linking / link by an id_token, without a session',
    path: 'status',
    ours: '401 no_authorization',
    reason: 'A missing token gets the same error as everywhere else.',
  },
  {
    at: '* / sign-ins / an audience of another',
    path: 'status',
    ours: '400 validation_failed',
    reason: 'The error names an unknown audience, instead of wrong credentials.',
  },
  {
    at: '* / bearers / *: two spaces',
    path: 'status',
    theirs: '401 no_authorization',
    reason: 'Ours is a superset: RFC 9110 permits several spaces after the scheme.',
  },
  {
    at: '* / audit log / the newest entries',
    path: 'headers.x-total-count',
    reason: 'A sign-up under autoconfirm is one entry of the audit log, and no sign-in besides.',
  },
  { at: '*: claims', path: 'amr.0.method', theirs: 'otp', ours: 'email_change', reason: CHANGE_IS_NO_PROOF },
  { at: '*: claims', path: 'amr.0.method', theirs: 'otp', ours: 'phone_change', reason: CHANGE_IS_NO_PROOF },
  {
    at: '* / audit log / GET /admin/audit',
    path: 'status',
    ours: '403 not_admin',
    reason: 'A user who is not an admin gets this error, with or without a live session.',
  },
  {
    at: '* / paths / POST /admin/custom-providers',
    path: 'status',
    ours: '400 validation_failed',
    reason: 'Every mistake in a custom provider has one code.',
  },
  {
    at: 'factors / * / refresh ada',
    path: 'headers.sb-auth-refresh-token-reuse',
    theirs: undefined,
    ours: 'false',
    reason: 'Tokens are stored as hashes, so a token from before a second factor is exchanged for a new one.',
  },
  {
    at: '* / GET /factors/recovery-codes',
    path: 'status',
    ours: '404 mfa_factor_not_found',
    reason: 'Ours is a superset: there are recovery codes.',
  },
  {
    at: '* / sign-ins / POST /token*',
    path: 'status',
    theirs: '400 invalid_credentials',
    ours: '400 bad_json',
    reason: FORM,
  },
  { at: '* / sign-ins / POST /token*', path: 'status', theirs: '422 web3_provider_disabled', reason: FORM },
  { at: '* / POST /callback', path: 'status', ours: '400 bad_json', reason: FORM },
  { at: '* / forms of bodies / *', path: 'status', ours: '400 bad_json', reason: FORM },
  {
    at: '* / sign-ins / POST /token: the grant in the body alone|* / sign-ins / a form|* / forms of bodies / JSON as *',
    path: 'status',
    reason: 'Ours is a superset: POST /token takes a form, and the grant in the body, as RFC 6749 writes them.',
  },
  { at: '*forged text-exp', path: 'status', reason: 'An expiry that is a text is no valid claim of a JWT (RFC 7519).' },
  {
    at: '*a long token',
    path: 'status',
    ours: '400 refresh_token_not_found',
    reason: 'The form of a refresh token is not judged: one that is unknown is not found.',
  },
  {
    at: '* / PUT the deleted',
    path: 'status',
    ours: '404 user_not_found',
    reason: 'A user who was deleted softly cannot be changed.',
  },
  {
    at: '* / POST with an id in the path',
    path: 'status',
    theirs: '404 user_not_found',
    reason: 'Ours is a superset: an admin may choose the id of a new user.',
  },
  {
    at: '* / PUT /admin/users/*: a hash*',
    path: 'status',
    theirs: '200',
    reason: 'A password hash that would be ignored is refused.',
  },
  {
    at: '* / POST /factors: a long name',
    path: 'status',
    reason: 'Names of factors have a limit, as all texts that are kept.',
  },
  {
    at: '* / POST /factors/*: a challenge that is none',
    path: 'status',
    reason: 'What is no id of a challenge is an unknown challenge.',
  },
  {
    at: '* / POST /verify: an unknown type|* / POST /verify: sms with an address',
    path: 'status',
    theirs: '403 otp_expired',
    ours: '400 validation_failed',
    reason: 'The error names the wrong type, instead of an expired code.',
  },
  {
    at: '* / POST /verify: no address|* / POST /verify: the hash as the token|* / GET /verify?type=signup&token_hash=x',
    path: 'status',
    theirs: '400 validation_failed',
    reason: 'Ours is a superset: the token of a link may be sent as it is.',
  },
  {
    at: '* / no mail server / *',
    path: 'status',
    theirs: '500 unexpected_failure',
    ours: '200',
    reason: 'Mails are sent by a queue: an unavailable mail server loses no user.',
  },
  {
    at: '* / no mail server / *',
    path: 'headers.x-total-count|body.users.*|body.user.recovery_sent_at',
    reason: 'Mails are sent by a queue: an unavailable mail server loses no user.',
  },
  {
    at: '* / intervals / recover, unknown again',
    path: 'status',
    theirs: '200',
    ours: '429 over_email_send_rate_limit',
    reason: 'The interval holds for unknown addresses too, so it does not tell who has an account.',
  },
  {
    at: '* / guesses / *',
    path: 'status',
    theirs: '200',
    reason: 'Wrong codes and passwords are counted; beyond the limit the right one is refused.',
  },
]
