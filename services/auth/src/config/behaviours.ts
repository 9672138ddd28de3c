/** The profiles, which exclude each other (reference: Profiles). */
export const PROFILES = ['compatible', 'strict', 'supabase'] as const

/** How the service behaves where its reference, caution and supabase/auth disagree. */
export type Profile = (typeof PROFILES)[number]

/** A value that the code asks for, and what it means to a reader of the documents. */
interface Choice {
  readonly value: string | number | boolean
  readonly words: string
}

/** One behaviour. The strict profile behaves as the compatible one, unless it has a value of its own. */
interface Behaviour {
  readonly subject: string
  readonly compatible: Choice
  readonly supabase: Choice
  readonly strict?: Choice
  /** Why the profile supabase differs. */
  readonly reason: string
}

const is = <const V extends Choice['value']>(
  value: V,
  words: string,
): { readonly value: V; readonly words: string } => ({
  value,
  words,
})

/**
 * Every behaviour in which the profiles differ. The code asks `config.behaviours`, never for the name of the profile. What the
 * strict profile narrows is in profile.ts.
 */
export const BEHAVIOURS = {
  confirmedDuplicateStatus: {
    subject: 'A sign-up with a taken address under autoconfirm',
    compatible: is(400, '400 `user_already_exists`'),
    supabase: is(422, '422 `user_already_exists`'),
    reason: 'Clients of supabase/auth know a taken address by this status.',
  },
  duplicateIsTold: {
    subject: 'A sign-up with the address of a confirmed user, without autoconfirm',
    compatible: is(false, 'cannot be told from a fresh one'),
    supabase: is(true, '200 with `identities: []` and `role: ""`'),
    reason: 'Applications test `data.user.identities.length === 0` to say that the address is taken.',
  },
  repeatedSignUpIsTold: {
    subject: 'Another sign-up with the address of a user who has not confirmed',
    compatible: is(false, '200, shows what was sent just now'),
    supabase: is(true, '429 within the interval between messages, later the user as stored'),
    reason: 'Applications show the time to wait, and that the address waits for its confirmation.',
  },
  addressInUserMetadata: {
    subject: '`user_metadata`',
    compatible: is(false, 'holds what was sent'),
    supabase: is(
      true,
      'a sign-up adds `sub`, `email`, `email_verified` and `phone_verified` (both false) over what was sent; the confirmation of an email writes `email_verified: true`; `phone_verified` stays false',
    ),
    reason: 'Triggers and policies read `raw_user_meta_data`, and applications the claims of the token.',
  },
  spentParentLasts: {
    subject: 'The parent of the newest live refresh token, used again; that from before `aal2` too',
    compatible: is(
      false,
      'within `REUSE_INTERVAL` gets its child again; later ends the session. Not that from before `aal2`',
    ),
    supabase: is(true, 'at any time until its child is used'),
    reason: 'A client whose answer was lost, or whose phone slept meanwhile, stays signed in.',
  },
  ancestorsBranch: {
    subject: 'Any other spent refresh token, used again within `REUSE_INTERVAL`',
    compatible: is(false, 'ends the session'),
    supabase: is(true, 'gets a new child; the other tokens of the session stay alive'),
    reason: 'A stale tab refreshes while another tab has refreshed twice. Rendering on a server makes this usual.',
  },
  passwordHashesStay: {
    subject: 'A right password whose hash has another algorithm or cost than new ones',
    compatible: is(false, 'is hashed anew'),
    supabase: is(true, 'keeps its hash'),
    reason: 'Functions compare `encrypted_password` with `crypt()`, which knows bcrypt alone.',
  },
  banIsToldFirst: {
    subject: 'A sign-in of a banned user with a wrong password',
    compatible: is(false, '400 `invalid_credentials`'),
    supabase: is(true, '400 `user_banned`'),
    reason: 'Applications show the ban.',
  },
  strangePhoneIsUnknown: {
    subject: 'A sign-in by password with a phone that is none',
    compatible: is(false, '400 `validation_failed`'),
    supabase: is(true, '400 `invalid_credentials`'),
    reason: 'One text for whatever is wrong with a sign-in.',
  },
  emptyPasswordIsWeak: {
    subject: '`PUT /user` with `password: ""`',
    compatible: is(false, 'ignores the member'),
    supabase: is(true, '422 `weak_password`'),
    reason: 'Forms show that a password is missing.',
  },
  audienceIsFixed: {
    subject: '`aud` in `PUT /admin/users/:id`',
    compatible: is(false, 'is set'),
    supabase: is(true, 'is ignored'),
    reason: 'Programs send a whole user back. A user in another audience could not sign in any more.',
  },
  providerNameInAnyCase: {
    subject: '`GET /authorize?provider=KeyCloak`',
    compatible: is(false, '400 `validation_failed`'),
    supabase: is(true, 'as `keycloak`'),
    reason: 'Links of applications write names as people do.',
  },
  tokensHaveIssuer: {
    subject: 'The claim `iss` where `JWT_ISSUER` is not set',
    compatible: is(true, '`API_EXTERNAL_URL`'),
    supabase: is(false, 'none'),
    reason: 'Verifiers that list the claims of a token refuse another one.',
  },
  errorCodeHeader: {
    subject: 'The header `x-sb-error-code` of errors',
    compatible: is(false, 'not sent'),
    supabase: is(true, 'the error code'),
    reason: 'Gateways and logs read it without the body.',
  },
  tokenFromBeforeFactor: {
    subject: 'An access token from before its session reached `aal2`',
    compatible: is('itself', 'counts as `aal1`: 401 `insufficient_aal` where a second factor is needed'),
    supabase: is('session', 'counts as its session does'),
    reason: 'Servers hold the old token of a browser that has shown the second factor meanwhile.',
  },
  tokenAudience: {
    subject: 'The audience of a user’s access token',
    compatible: is('of its user', 'must be that of the user: 400 and 403'),
    supabase: is('any', 'is only compared with the header X-JWT-AUD; the user is found by `sub`'),
    reason: 'The hook CUSTOM_ACCESS_TOKEN writes audiences of other services into tokens.',
  },
  tokenOfDeletedUser: {
    subject: 'A token of a user who was deleted softly',
    compatible: is('user', '403 `user_not_found`'),
    supabase: is('session', '403 `session_not_found`'),
    reason: 'Such a user still has a row, but no session.',
  },
  userListMax: {
    subject: '`per_page` of `GET /admin/users`',
    compatible: is(1_000, 'up to 1,000'),
    supabase: is(50_000, 'up to 50,000, streamed'),
    reason: 'Scripts read all users with `listUsers({ perPage: 10000 })`.',
  },
  pageZeroIsFirst: {
    subject: '`page=0` of `GET /admin/users`',
    compatible: is(false, '400 `validation_failed`'),
    supabase: is(true, 'the first page'),
    reason: 'Scripts count pages from 0.',
  },
  makesPgcrypto: {
    subject: '`migrate`',
    compatible: is(false, 'makes no extension'),
    supabase: is(true, 'makes pgcrypto, in the schema `extensions` if it exists'),
    reason: 'Seed files make passwords by `crypt()`.',
  },
  hookRefusalCode: {
    subject: 'The error code of a refusal by a hook',
    compatible: is('hook_rejected', '`hook_rejected`'),
    supabase: is('unknown', '`unknown`'),
    reason: 'Applications tell the refusals of their hooks by this code.',
  },
  hooksHaveMetadata: {
    subject: '`metadata` (`uuid`, `time`, `name`, `ip_address`) in what hooks are sent',
    compatible: is(false, 'of BEFORE_USER_CREATED and AFTER_USER_CREATED'),
    supabase: is(true, 'of all hooks'),
    reason: 'Hooks read the address of the client, and tell repeats by `uuid`.',
  },
  silentHookConsents: {
    subject: 'An answer without a known `decision` of PASSWORD_VERIFICATION_ATTEMPT or MFA_VERIFICATION_ATTEMPT',
    compatible: is(false, '500 `unexpected_failure`'),
    supabase: is(true, 'counts as `continue`'),
    reason: 'Hooks that only count attempts answer `{}`.',
  },
  messageHooksCalled: {
    subject: 'The hooks SEND_EMAIL and SEND_SMS',
    compatible: is('by the queue', 'are called by the queue, for a day; a failure does not reach the request'),
    supabase: is(
      'in the request',
      'are called in the request, before anything is stored. A failure fails the request, which then changes nothing',
    ),
    reason: 'Applications show at once that a message cannot be sent, and hooks refuse addresses.',
  },
  messageHookPayload: {
    subject: 'What SEND_EMAIL and SEND_SMS are sent',
    compatible: is('one message', 'one call is one message, with its recipient `to`, and with what the message has'),
    supabase: is(
      'all members',
      'the members of supabase/auth, empty where a mail has no such thing. A change of email is one call, with `token_new` and `token_hash_new`; an SMS is `otp` and `phone`',
    ),
    reason: 'Hooks written for supabase/auth read exactly these members.',
  },
  userHooksCalled: {
    subject: 'The hook AFTER_USER_CREATED',
    compatible: is('by the queue', 'is called by the queue, for a day'),
    supabase: is(
      'in the request',
      'is called in the request, once the user is stored. A failure fails the request, and the user stays',
    ),
    reason: 'Applications read at once what the hook writes for a new user.',
  },
  neighboursAreTold: {
    subject: 'A trigger or a constraint of an application that refuses a statement',
    compatible: is(false, '500 `unexpected_failure`; its report is in the log'),
    supabase: is(true, 'told: `{code, message, hint, detail}` with the SQLSTATE; `PTnnn` is the status nnn'),
    reason: 'Applications refuse sign-ups by RAISE EXCEPTION in a trigger, and read the text.',
  },
  siteRedirects: {
    subject: 'Redirects to `SITE_URL`',
    compatible: is('host', 'to its host, on any port, by https or its own scheme http'),
    supabase: is(
      'origin',
      'to its scheme, host and port, where `localhost` has any port; and to every loopback address, by any scheme and port',
    ),
    strict: is('address', 'to itself alone'),
    reason: 'Programs on the machine of a user listen at a free port.',
  },
  emptyPathGetsSlash: {
    subject: 'A redirect to an address without a path',
    compatible: is(true, 'gets a `/`: `myapp://callback/#…`'),
    supabase: is(false, 'stays as written: `myapp://callback#…`'),
    reason: 'Apps compare their own address as a text.',
  },
  zeroFrequencyIsUnset: {
    subject: '`SMTP_MAX_FREQUENCY=0s`, `SMS_MAX_FREQUENCY=0s`',
    compatible: is(false, 'no interval between messages'),
    supabase: is(true, 'as unset: 60 s'),
    reason: 'Files of settings have 0 for a default that nobody chose.',
  },
  linksStartIntervals: {
    subject: 'A link of `POST /admin/generate_link`, an invitation by `POST /invite`',
    compatible: is(false, 'leave the intervals between messages alone'),
    supabase: is(
      true,
      'start the interval that a mail of their kind would: confirmation, recovery (with magic links) or change of email',
    ),
    reason: 'There is one clock for a kind of link, whoever asks for it.',
  },
  emailChangeCounts: {
    subject: 'A change of email that both addresses confirm, in the hourly limit of mails',
    compatible: is(2, 'two mails'),
    supabase: is(1, 'one mail'),
    reason: 'The limit of an installation was chosen for requests.',
  },
  codesSignUp: {
    subject: '`POST /otp`, `POST /magiclink` for a new address',
    compatible: is(
      false,
      'the user exists once the code is entered. The mail is MAGIC_LINK with `type=magiclink`; its code has the types `email`, `magiclink`, `signup`',
    ),
    supabase: is(
      true,
      'the user exists at once. The mail, also to a user who has not confirmed, is CONFIRMATION with `type=signup`, in the interval of confirmations; its code has the types `email` and `signup`, not `magiclink`',
    ),
    reason: 'Triggers on `auth.users` make the rows of a new user, and templates greet new users.',
  },
  testCodesStand: {
    subject: 'A code of `SMS_TEST_OTP`',
    compatible: is(false, 'works once, after it was asked for'),
    supabase: is(true, 'signs its user in at any time, any number of times; confirms a change of phone late too'),
    reason: 'Reviewers of app stores and test suites enter it without asking.',
  },
  messageIdOf: {
    subject: '`message_id`',
    compatible: is('resend', 'of every `POST /resend`'),
    supabase: is('SMS', 'of every SMS: `POST /otp`, `POST /resend`, `GET /reauthenticate`'),
    reason: 'Support finds the SMS in the log by it. Clients expect an empty object after a mail.',
  },
  generatedLinkPath: {
    subject: 'The path of links by `POST /admin/generate_link`',
    compatible: is('own', '`/verify`'),
    supabase: is('of mails', 'that of `MAILER_URLPATHS_…`, as in mails'),
    reason: 'Mails that are sent another way lead to the page of the application too.',
  },
  mailServerIsNeeded: {
    subject: 'A start without `SMTP_HOST`, `SMTP_PORT` or `SMTP_ADMIN_EMAIL`, where sign-ups need a mail',
    compatible: is(true, 'is refused'),
    supabase: is(false, 'succeeds with a warning; each mail is dropped, with a warning'),
    reason: 'Installations sign users in by providers alone, and never set a mail server up.',
  },
  healthName: {
    subject: '`GET /health`',
    compatible: is('Auth', '`name` is `Auth`, `version` is that of this service'),
    supabase: is('GoTrue', '`name` is `GoTrue`, `version` has the form of supabase/auth'),
    reason: 'Client libraries and their test suites compare the version to find out what a server can do.',
  },
  trustedPeer: {
    subject: '`X-Forwarded-For` while `TRUSTED_PROXIES` is unset',
    compatible: is('none', 'is not read'),
    supabase: is(
      'private peer',
      'its last entry is the address of the client, where the connection comes from a private network. Request limits stay off',
    ),
    reason: 'The compose file of Supabase has a gateway in front, and no setting that says so.',
  },
  timesEndInZ: {
    subject: 'Times in answers and in what hooks are sent',
    compatible: is(false, 'end in `+00:00`'),
    supabase: is(true, 'end in `Z`'),
    reason: 'Parsers of some languages, and tests of applications, want this letter.',
  },
  identitiesShowSignIn: {
    subject: '`last_sign_in_at` of an identity by email or phone',
    compatible: is(false, 'absent'),
    supabase: is(true, 'when the identity was made'),
    reason: 'Types of client libraries have the member, and applications format it.',
  },
  sessionHeaders: {
    subject:
      'The headers `sb-auth-user-id`, `sb-auth-session-id` and `sb-auth-refresh-token-prefix` of a new or refreshed session',
    compatible: is(false, 'not sent'),
    supabase: is(true, 'sent; with `sb-auth-refresh-token-reuse: false` where a refresh has made a new refresh token'),
    reason: 'Gateways and logs follow a session by them.',
  },
  tokenErrorNames: {
    subject: 'Errors of `POST /token`',
    compatible: is('beside', 'have `error` and `error_description` beside their own members'),
    supabase: is(
      'of id_tokens',
      'have their own members alone; those about an id_token itself only `error` (`invalid request`, `invalid nonce`) and `error_description`, in every API version',
    ),
    reason: 'Clients take an error for one of OAuth by these members.',
  },
  weakPasswordIsNull: {
    subject: '`weak_password` of a session by password, where the password meets the policy',
    compatible: is(false, 'absent'),
    supabase: is(true, '`null`'),
    reason: 'Types of client libraries have the member.',
  },
  userBesideSession: {
    subject: 'The answer of a `POST /signup` that signs in',
    compatible: is(true, 'has the members of the user beside those of the session'),
    supabase: is(false, 'is a session'),
    reason: 'Programs that log or store the answer take it for a session.',
  },
  verifiedTypeIsTold: {
    subject: '`type` in the answer of `POST /verify`',
    compatible: is(true, 'the type of the message'),
    supabase: is(false, 'absent'),
    reason: 'The answer is a session and nothing else.',
  },
  linkTokenIsTold: {
    subject: '`token` and `type` in the answer of `POST /admin/generate_link`',
    compatible: is(true, 'the token and the type in the link'),
    supabase: is(false, 'absent: `hashed_token` and `verification_type` say the same'),
    reason: 'Programs that log the answer leave out the members that they know as secret.',
  },
  providerInFragment: {
    subject: '`provider` in the fragment after a sign-in at a provider',
    compatible: is(true, 'its name'),
    supabase: is(false, 'absent'),
    reason: 'Applications compare the whole fragment.',
  },
  enrolledPhoneAsSent: {
    subject: '`phone` in the answer of `POST /factors`',
    compatible: is(false, 'without `+`'),
    supabase: is(true, 'as it was sent'),
    reason: 'Applications show the number that the user has typed.',
  },
  linkingAdoptsProfile: {
    subject: 'Linking an identity',
    compatible: is(true, 'merges the profile of the provider into `user_metadata`'),
    supabase: is(false, 'leaves `user_metadata` as it is'),
    reason: 'A user who links an account keeps the name that applications show.',
  },
  emptyCustomClaims: {
    subject: '`custom_claims` of an account at Azure or Keycloak that has none, after a sign-in by redirect',
    compatible: is(false, 'absent'),
    supabase: is(true, '`{}`'),
    reason: 'Applications read its members without asking whether it is there.',
  },
  providerRefusalCode: {
    subject: 'The redirect after a provider has refused a sign-in',
    compatible: is(true, 'has `error_code=bad_oauth_callback`'),
    supabase: is(false, 'has no `error_code`'),
    reason: 'Applications tell by it whether the user or this service has refused.',
  },
  strangeIdTokensAreUnsupported: {
    subject: 'An id_token of an issuer, or of a provider, that no setting could enable for the grant',
    compatible: is(false, '400 `provider_disabled`, unless the provider is on'),
    supabase: is(true, '400 `validation_failed`'),
    reason: 'One code for what no operator can switch on.',
  },
  ownIssuersAreTaken: {
    subject: 'An id_token by `issuer` and `client_id`, of a provider that is on',
    compatible: is(false, 'needs the issuer in `EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS`, and a client id of ours'),
    supabase: is(true, 'needs neither: its audience must be a client id of ours'),
    reason: 'Clients name the realm of Keycloak, and old ones every provider, by the issuer.',
  },
  idTokensNeedEmail: {
    subject: 'An id_token of a new account without an email',
    compatible: is(true, '400 `validation_failed`'),
    supabase: is(
      false,
      'signs in under autoconfirm, as a user without an email; otherwise 422 `provider_email_needs_verification`',
    ),
    reason: 'Users of Apple and Facebook may hide their email.',
  },
  upstreamSettings: {
    subject: '`GET /settings`',
    compatible: is(false, 'has the providers of this service in `external`, and `…_enabled` members beside it'),
    supabase: is(
      true,
      'has `email`, `phone`, `anonymous_users` and all providers of supabase/auth in `external`, and `saml_private_key_next_configured`',
    ),
    reason: 'Pages of settings and sign-in forms read `external.email` and `external.phone`.',
  },
  logsAuthEvents: {
    subject: 'Log lines with `auth_event`',
    compatible: is(false, 'only where `AUDIT_LOG_DISABLE_POSTGRES` keeps events out of the database'),
    supabase: is(true, 'always: one line for each event of the audit log'),
    reason: 'Queries of logs read `auth_event`.',
  },
  invitationDataInIdentity: {
    subject: '`data` of an invitation, or of a generated link that makes a user',
    compatible: is(true, 'goes to `user_metadata` and to the `identity_data` of the email'),
    supabase: is(false, 'goes to `user_metadata` alone'),
    reason: 'Applications read what the admin has written in one place.',
  },
  metadataBytesMax: {
    subject: 'Size of `user_metadata` and `app_metadata`',
    compatible: is(65_536, '64 KiB of JSON, in a body of at most 256 KiB'),
    supabase: is(1_048_576, 'that of a body: 1 MiB'),
    reason: 'Applications keep images in metadata.',
  },
  headBytesMax: {
    subject: 'Size of the headers of a request',
    compatible: is(16_384, '16 KiB'),
    supabase: is(1_048_576, '1 MiB'),
    reason: 'An access token holds `user_metadata`.',
  },
  passwordClearsSentTimes: {
    subject: '`…_sent_at` of a user who gets a new password',
    compatible: is(false, 'stay, but for those of a change that the password has ended'),
    supabase: is(true, 'are absent'),
    reason: 'The messages are of no use any more.',
  },
  changeTimesStay: {
    subject: '`email_change_sent_at` and `phone_change_sent_at` after the change',
    compatible: is(false, 'absent'),
    supabase: is(true, 'stay'),
    reason: 'Types of client libraries have the members, and applications show when a change was asked for.',
  },
  auditTellsProvider: {
    subject: '`traits.provider` in the audit log, where an admin creates a user',
    compatible: is(false, 'absent'),
    supabase: is(true, '`email` or `phone`'),
    reason: 'Queries of the log count new users by it.',
  },
} as const satisfies Readonly<Record<string, Behaviour>>

type Table = typeof BEHAVIOURS

/** The name of a behaviour. */
export type BehaviourName = keyof Table

/** The value of each behaviour, as the profile of a service has it. */
export type Behaviours = {
  readonly [Name in BehaviourName]: Extract<Table[Name][keyof Table[Name]], Choice>['value']
}

/** A setting whose default depends on the profile. An explicit value wins. Defaults are written as in the environment. */
interface SettingDefault {
  readonly compatible: string
  readonly supabase: string
  readonly reason: string
}

/** The settings whose default is another one in the profile supabase, by their names without `AUTH_`. */
export const SETTING_DEFAULTS = {
  SESSIONS_ENFORCE_ON_ACCESS_TOKEN: {
    compatible: 'false',
    supabase: 'true',
    reason:
      'Every call whose session is gone is answered 403 `session_not_found`, so a client notices a sign-out elsewhere.',
  },
  SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: {
    compatible: '10s',
    supabase: '0s',
    reason: 'The parent of the newest token needs no interval.',
  },
  SMTP_MAX_FREQUENCY: {
    compatible: '900s',
    supabase: '60s',
    reason: 'Of confirmations. All other mails have 60 s in both profiles. Applications count the seconds on a button.',
  },
  PASSWORD_HASH: {
    compatible: 'argon2id',
    supabase: 'bcrypt',
    reason: 'Functions compare `encrypted_password` with `crypt()`, which knows bcrypt alone.',
  },
  CUSTOM_OAUTH_ENABLED: {
    compatible: 'false',
    supabase: 'true',
    reason: 'Programs set their providers up without a further setting.',
  },
  MAILER_INVITE_ON_ADMIN_CREATE: {
    compatible: 'true',
    supabase: 'false',
    reason: 'Scripts that create users expect no mail. `POST /invite` is there for mails.',
  },
} as const satisfies Readonly<Record<string, SettingDefault>>

/** Where supabase/auth behaves otherwise, and this service does not follow in any profile. */
interface KeptBehaviour {
  readonly subject: string
  readonly ours: string
  readonly theirs: string
  readonly reason: string
}

/** What stays as it is in every profile, although supabase/auth behaves otherwise. */
export const KEPT: readonly KeptBehaviour[] = [
  {
    subject: 'A mail server that is away',
    ours: 'The mail is sent by the queue, later',
    theirs: '500, and the user is not kept',
    reason: 'A mail server that is away must neither lose a user nor slow a request.',
  },
  {
    subject: 'Wrong codes and passwords',
    ours: 'Counted; after `OTP_MAX_ATTEMPTS` and `FAILED_ATTEMPTS` the right one is refused too',
    theirs: 'Not counted',
    reason: 'A code of six digits can be guessed otherwise.',
  },
  {
    subject: 'Password and `data` of an account that is confirmed by a message',
    ours: 'Those of the request that sent the message; after a code of `POST /otp` no password',
    theirs: 'Those of the first sign-up',
    reason: 'Anybody can sign up with the address of somebody else, and would know the password of its owner.',
  },
  {
    subject: 'Redirects with dot segments, or to a port that is none',
    ours: 'Refused',
    theirs: 'Followed',
    reason: 'Browsers and servers resolve such a path, and so leave what the list permits.',
  },
  {
    subject: 'The same TOTP code twice',
    ours: '422 `mfa_verification_failed`',
    theirs: 'Accepted again within its step',
    reason: 'Whoever reads a code over a shoulder must not use it.',
  },
  {
    subject: 'The interval between messages for unknown addresses',
    ours: '429, as for a known address',
    theirs: '200',
    reason: 'The difference tells who has an account.',
  },
  {
    subject: 'Taken addresses and ids, bad hashes and long passwords in the admin API',
    ours: '400, 409 or 422 with an error code',
    theirs: '500 with the text of PostgreSQL',
    reason: 'A client can act on a code. The text shows the inside of the database.',
  },
  {
    subject: 'Unknown URLs and methods',
    ours: '404 and 405 with a JSON body; HEAD and a slash at the end work',
    theirs: 'Text, or no body; 404 and 405',
    reason: 'One form of errors for every answer.',
  },
  {
    subject: '`Retry-After` and `X-Redirect-Refused`',
    ours: 'Sent',
    theirs: 'Not sent',
    reason: 'A client learns when to try again, and a developer why a redirect went elsewhere.',
  },
  {
    subject: 'PKCE towards providers, and what is passed on to them',
    ours: 'S256; only what the provider needs',
    theirs: 'No PKCE; the query of the client is passed on',
    reason: 'A stolen code of the provider is of no use without its verifier.',
  },
  {
    subject: 'Built-in mails',
    ours: 'Text and HTML, with link and code, from a name',
    theirs: 'HTML with the link alone, from the bare address',
    reason: 'Codes work without a template of one’s own.',
  },
  {
    subject: '`identities` in lists of users, `Link` and their order',
    ours: 'Filled; `Link` always has `per_page`',
    theirs: '`null`; `Link` repeats the query',
    reason: 'A superset.',
  },
  {
    subject: 'Verified members of identities, providers after an address was added, factors after their verification',
    ours: 'What is so after the request',
    theirs: 'What was so before it',
    reason: 'Faults of theirs.',
  },
  {
    subject: 'The user in the payload of hooks',
    ours: 'Filled',
    theirs: '`role: ""`, times of the year 1',
    reason: 'A fault of theirs.',
  },
  {
    subject: '`claims.aud` in the first call of CUSTOM_ACCESS_TOKEN after a start',
    ours: 'A text, as in every call',
    theirs: 'A list; a text once a token has been signed',
    reason: 'A fault of theirs.',
  },
  {
    subject: 'BEFORE_USER_CREATED',
    ours: 'Asked at each sign-up, also of a taken address',
    theirs: 'Asked where nobody has the address',
    reason: 'Its refusal must not tell who has an account.',
  },
  {
    subject: 'AFTER_USER_CREATED',
    ours: 'Called once for each new user',
    theirs: 'Not for sign-ups under autoconfirm; again for each repeated sign-up of an unconfirmed user',
    reason: 'A fault of theirs.',
  },
  {
    subject: 'Notifications by SEND_EMAIL, such as of a new password',
    ours: 'Called by the queue, again after a failure',
    theirs: 'Called once in the request, which goes on after a failure',
    reason: 'A hook that is away must not lose a warning.',
  },
  {
    subject: 'A hook that changes `exp`, `sub` or `session_id` of an access token',
    ours: '`expires_in` follows `exp`; another `sub` or `session_id` is refused',
    theirs: '`expires_in` stays; the token fails later',
    reason: 'A client must know when its token ends.',
  },
  {
    subject: 'Form bodies and `grant_type` in the body of `POST /token`; `GET /verify?token_hash=`',
    ours: 'Accepted',
    theirs: '400',
    reason: 'A superset.',
  },
  {
    subject: 'The account name in the URI of a TOTP factor',
    ours: 'Escaped',
    theirs: 'As it is',
    reason: 'Authenticator apps read both; the URI is one only when it is escaped.',
  },
  {
    subject: 'CORS, cache headers and the echo of `X-Supabase-Api-Version`',
    ours: 'Fixed lists with `apikey`; 204 for any OPTIONS; no-store; always echoed',
    theirs: 'Echoes what is asked, needs a gateway for `apikey`',
    reason: 'Browsers need no gateway.',
  },
  {
    subject: 'Bad values: `code_challenge_method`, a token whose `exp` is text, a body `null` with required members',
    ours: 'Refused with 400 or 403',
    theirs: 'Ignored, or 500',
    reason: 'A mistake is told where it is made.',
  },
  {
    subject: 'Bodies that are no JSON, members of a wrong type',
    ours: '400 `bad_json` with a text that names the member',
    theirs: '400 `bad_json` with the text of the JSON library of Go',
    reason: 'A developer finds the member. Clients act on the code, which is the same.',
  },
  {
    subject: 'A `challenge_id` that is no UUID',
    ours: '422 `mfa_factor_not_found`',
    theirs: '400 `bad_json`',
    reason: 'An id that nobody has is unknown, whatever its form.',
  },
  {
    subject: 'The texts of errors at providers: an unknown provider, a code that is missing or was not exchanged',
    ours: 'General',
    theirs: 'Name the provider and the code',
    reason:
      'Anybody can write a name or a code into an address. The code of an error is the same, and the log has the rest.',
  },
  {
    subject: '`POST /admin/users/:id`',
    ours: 'Creates the user with this id',
    theirs: '405',
    reason: 'A superset.',
  },
  {
    subject: 'The texts of errors',
    ours: 'Our own where status and code agree',
    theirs: 'Some name providers, codes or answers of hooks',
    reason: 'Clients act on codes. What a server answered is in the log.',
  },
]

/** The behaviours of a profile. */
export function behavioursOf(profile: Profile): Behaviours {
  const values = Object.entries<Behaviour>(BEHAVIOURS).map(([name, row]) => [
    name,
    (row[profile] ?? row.compatible).value,
  ])
  // The table has a row for each name of the type, which is made of the table.
  return Object.fromEntries(values) as Behaviours
}
