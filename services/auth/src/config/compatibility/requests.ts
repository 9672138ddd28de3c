import { is, type KeptDifference, type OptionRows } from './option.ts'

export const requestOptions = {
  sendErrorCodeHeader: {
    subject: 'The header `x-sb-error-code` of errors',
    compatible: is(false, 'not sent'),
    supabase: is(true, 'the error code'),
    reason: 'Gateways and logs read it without the body.',
  },
  headBytesMax: {
    subject: 'Size of the headers of a request',
    compatible: is(16_384, '16 KiB'),
    supabase: is(1_048_576, '1 MiB'),
    reason: 'An access token holds `user_metadata`.',
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
  endTimesInZ: {
    subject: 'Times in answers and in what hooks are sent',
    compatible: is(false, 'end in `+00:00`'),
    supabase: is(true, 'end in `Z`'),
    reason: 'Parsers of some languages, and tests of applications, want this letter.',
  },
  compareSiteRedirectsBy: {
    subject: 'Redirects to `SITE_URL`',
    compatible: is('host', 'to its host, on any port, by https or its own scheme http'),
    supabase: is(
      'origin',
      'to its scheme, host and port, where `localhost` has any port; and to every loopback address, by any scheme and port',
    ),
    strict: is('address', 'to itself alone'),
    reason: 'Programs on the machine of a user listen at a free port.',
  },
  addSlashToEmptyPath: {
    subject: 'A redirect to an address without a path',
    compatible: is(true, 'gets a `/`: `myapp://callback/#…`'),
    supabase: is(false, 'stays as written: `myapp://callback#…`'),
    reason: 'Apps compare their own address as a text.',
  },
} as const satisfies OptionRows

export const keptRequestDifferences: readonly KeptDifference[] = [
  {
    subject: 'Redirects with dot segments, or to a port that is none',
    ours: 'Refused',
    theirs: 'Followed',
    reason: 'Browsers and servers resolve such a path, and so leave what the list permits.',
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
    subject: 'Form bodies and `grant_type` in the body of `POST /token`; `GET /verify?token_hash=`',
    ours: 'Accepted',
    theirs: '400',
    reason: 'Clients of supabase/auth never send them.',
  },
  {
    subject: 'CORS, cache headers and the echo of `X-Supabase-Api-Version`',
    ours: 'Fixed lists with `apikey`; 204 for any OPTIONS; no-store; always echoed',
    theirs: 'Echoes what is asked, needs a gateway for `apikey`',
    reason: 'Browsers need no gateway.',
  },
  {
    subject: 'Values out of form in bodies, queries and tokens',
    ours: 'Refused with 400 or 403',
    theirs: 'Ignored, or 500',
    reason: 'A mistake is reported where it is made.',
  },
  {
    subject: 'Bodies that are no JSON, members of a wrong type',
    ours: '400 `bad_json` with a text that names the member',
    theirs: '400 `bad_json` with the text of the JSON library of Go',
    reason: 'A developer finds the member. Clients act on the code, which is the same.',
  },
  {
    subject: 'The texts of errors',
    ours: 'Our own where status and code agree',
    theirs: 'Some name providers, codes or answers of hooks',
    reason: 'Clients act on codes. What a server answered is in the log.',
  },
]

export const messageOptions = {
  inviteCreatedUsers: {
    subject: 'A user whom an admin makes with an email that the call does not confirm',
    compatible: is(true, 'is invited by mail'),
    supabase: is(false, 'gets no mail'),
    reason: 'Scripts that create users expect no mail. `POST /invite` is there for mails.',
  },
  treatZeroFrequencyAsUnset: {
    subject: '`SMTP_MAX_FREQUENCY=0s`, `SMS_MAX_FREQUENCY=0s`',
    compatible: is(false, 'no interval between messages'),
    supabase: is(true, 'as unset: 60 s'),
    reason: 'Files of settings have 0 for a default that nobody chose.',
  },
  startIntervalAtGeneratedLink: {
    subject: 'A link of `POST /admin/generate_link`, an invitation by `POST /invite`',
    compatible: is(false, 'leave the intervals between messages alone'),
    supabase: is(
      true,
      'start the interval that a mail of their kind would: confirmation, recovery (with magic links) or change of email',
    ),
    reason: 'One interval covers all links of a kind, for every client.',
  },
  shareRecoveryInterval: {
    subject: '`POST /recover`, and a magic link to the same email',
    compatible: is(false, 'have an interval each'),
    supabase: is(true, 'share an interval'),
    reason: 'A request to recover an account that nobody has uses up no interval of a mail that goes out.',
  },
  mailsPerEmailChange: {
    subject: 'A change of email that both addresses confirm, in the hourly limit of mails',
    compatible: is(2, 'two mails'),
    supabase: is(1, 'one mail'),
    reason: 'The limit of an installation was chosen for requests.',
  },
  restartChangeAtResend: {
    subject: '`POST /resend` for a change of email or phone',
    compatible: is(
      false,
      'ends nothing: an address that has agreed gets no mail, and earlier links and codes stay valid. An address that has two valid messages gets no more of them',
    ),
    supabase: is(true, 'makes the change begin from the start: earlier links, codes and agreements end'),
    reason: 'Applications send the message again, and say that only the newest one counts.',
  },
  acceptTestCodesRepeatedly: {
    subject: 'A test code, which `SMS_TEST_OTP` gives',
    compatible: is(false, 'works once, after it was asked for'),
    supabase: is(true, 'signs its user in at any time, any number of times; confirms a change of phone late too'),
    reason: 'Reviewers of app stores and test suites enter it without asking.',
  },
  sendSms: {
    subject: 'An SMS, where the hook SEND_SMS is off',
    compatible: is(
      'by the queue',
      'is sent by the queue, for a day. `POST /otp` waits two seconds for a refusal of the gateway, and uses the interval up',
    ),
    supabase: is(
      'in the request',
      'is sent in the request, before anything is stored. A gateway that refuses or is unavailable fails it with 422 `sms_send_failed`, and it changes nothing. A repeated `POST /resend` for a phone to which nothing is sent is 200, not 429',
    ),
    reason:
      'Applications show at once that an SMS cannot be sent, and the user tries again without waiting. A request that sends an SMS takes longer, so its time tells whether a phone has an account anyway.',
  },
  showMessageIdOf: {
    subject: '`message_id`',
    compatible: is('resend', 'of every `POST /resend`'),
    supabase: is('SMS', 'of every SMS: `POST /otp`, `POST /resend`, `GET /reauthenticate`'),
    reason: 'Support finds the SMS in the log by it. Clients expect an empty object after a mail.',
  },
  notifyFirstPhoneAsLinked: {
    subject: 'The notification of a phone that is added to an account without one',
    compatible: is(false, 'PHONE_CHANGED'),
    supabase: is(true, 'IDENTITY_LINKED, with the provider `phone`'),
    reason: 'The templates of applications say which phone was there before.',
  },
  generatedLinkPath: {
    subject: 'The path of links by `POST /admin/generate_link`',
    compatible: is('own', '`/verify`'),
    supabase: is('of mails', 'that of `MAILER_URLPATHS_…`, as in mails'),
    reason: 'Mails that are sent another way lead to the page of the application too.',
  },
  applyEmailChangeUnderAutoconfirm: {
    subject: 'A generated link of a change of email, under `MAILER_AUTOCONFIRM`',
    compatible: is(false, 'confirms one address; the change is applied as `MAILER_SECURE_EMAIL_CHANGE_ENABLED` says'),
    supabase: is(true, 'applies the change and signs in, whichever address it is for'),
    reason: 'Where no address has to be confirmed, scripts of admins make one link.',
  },
  showGeneratedLinkToken: {
    subject: '`token` and `type` in the answer of `POST /admin/generate_link`',
    compatible: is(true, 'the token and the type in the link'),
    supabase: is(false, 'absent: `hashed_token` and `verification_type` say the same'),
    reason: 'Programs that log the answer leave out the members that they know as secret.',
  },
  showVerifiedType: {
    subject: '`type` in the answer of `POST /verify`',
    compatible: is(true, 'the type of the message'),
    supabase: is(false, 'absent'),
    reason: 'The answer is a session and nothing else.',
  },
} as const satisfies OptionRows

export const keptMessageDifferences: readonly KeptDifference[] = [
  {
    subject: 'An unavailable mail server',
    ours: 'The mail is sent by the queue, later',
    theirs: '500, and the user is not kept',
    reason: 'An unavailable mail server must neither lose a user nor slow a request.',
  },
  {
    subject: 'The interval between mails for unknown addresses',
    ours: '429, as for a known address',
    theirs: '200',
    reason: 'The difference tells who has an account.',
  },
  {
    subject: 'Built-in mails',
    ours: 'Text and HTML, with link and code, from a name',
    theirs: 'HTML with the link alone, from the bare address',
    reason: 'Codes work without a template of one’s own.',
  },
]

export const hookOptions = {
  hookRefusalCode: {
    subject: 'The error code of a refusal by a hook',
    compatible: is('hook_rejected', '`hook_rejected`'),
    supabase: is('unknown', '`unknown`'),
    reason: 'Applications tell the refusals of their hooks by this code.',
  },
  sendMetadataToAllHooks: {
    subject: '`metadata` (`uuid`, `time`, `name`, `ip_address`) in what hooks are sent',
    compatible: is(false, 'of BEFORE_USER_CREATED and AFTER_USER_CREATED'),
    supabase: is(true, 'of all hooks'),
    reason: 'Hooks read the address of the client, and tell repeats by `uuid`.',
  },
  continueWithoutHookDecision: {
    subject: 'An answer without a known `decision` of PASSWORD_VERIFICATION_ATTEMPT or MFA_VERIFICATION_ATTEMPT',
    compatible: is(false, '500 `unexpected_failure`'),
    supabase: is(true, 'counts as `continue`'),
    reason: 'Hooks that only count attempts answer `{}`.',
  },
  ignoreUnknownHookAnswers: {
    subject: 'A member `error` of a hook that is no refusal in form; any member where a hook has to answer nothing',
    compatible: is(false, '500 `unexpected_failure`; a call by the queue is tried again'),
    supabase: is(true, 'mean nothing: the hook consents, and its message counts as sent'),
    reason: 'Hooks that answer more than they have to go on working.',
  },
  callMessageHooks: {
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
      'the members of supabase/auth, empty where a mail has no such thing. A change of email is one call, with `token_new` and `token_hash_new`; an SMS is `otp` and `phone`, with `sms_type: mfa` for a second factor',
    ),
    reason: 'Hooks written for supabase/auth read exactly these members.',
  },
  callUserHooks: {
    subject: 'The hook AFTER_USER_CREATED',
    compatible: is('by the queue', 'is called by the queue, for a day'),
    supabase: is(
      'in the request',
      'is called in the request, once the user is stored. A failure fails the request, and the user stays',
    ),
    reason: 'Applications read at once what the hook writes for a new user.',
  },
} as const satisfies OptionRows

export const keptHookDifferences: readonly KeptDifference[] = [
  {
    subject: 'The user in the payload of hooks',
    ours: 'Filled',
    theirs: '`role: ""`, times of the year 1',
    reason: 'A fault of supabase/auth.',
  },
  {
    subject: '`claims.aud` in the first call of CUSTOM_ACCESS_TOKEN after a start',
    ours: 'A text, as in every call',
    theirs: 'A list; a text once a token has been signed',
    reason: 'A fault of supabase/auth.',
  },
  {
    subject: 'The status of the answer of a hook',
    ours: 'A refusal counts with any status; 201, and an empty body, are an empty answer',
    theirs: '500, but for 200 and 202 with a body, and 204',
    reason: 'Servers refuse with the status of their refusal.',
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
    reason: 'A fault of supabase/auth.',
  },
  {
    subject: 'Notifications by SEND_EMAIL, such as of a new password',
    ours: 'Called by the queue, again after a failure',
    theirs: 'Called once in the request, which goes on after a failure',
    reason: 'An unavailable hook must not lose a warning.',
  },
  {
    subject: 'A hook that changes `exp`, `sub` or `session_id` of an access token',
    ours: '`expires_in` follows `exp`; another `sub` or `session_id` is refused',
    theirs: '`expires_in` stays; the token fails later',
    reason: 'A client must know when its token ends.',
  },
]

export const operationOptions = {
  makesPgcrypto: {
    subject: '`migrate`',
    compatible: is(false, 'makes no extension'),
    supabase: is(true, 'makes pgcrypto, in the schema `extensions` if it exists'),
    reason: 'Seed files make passwords by `crypt()`.',
  },
  refuseStartWithoutMailServer: {
    subject: 'A start without `SMTP_HOST`, `SMTP_PORT` or `SMTP_ADMIN_EMAIL`, where sign-ups need a mail',
    compatible: is(true, 'is refused'),
    supabase: is(false, 'succeeds with a warning; each mail is dropped, with a warning'),
    reason: 'Installations sign users in by providers alone, and never set a mail server up.',
  },
  refuseStartWithoutRelyingParty: {
    subject:
      'A start without `WEBAUTHN_RP_ID`, `WEBAUTHN_RP_DISPLAY_NAME` or `WEBAUTHN_RP_ORIGINS`, with passkeys or WebAuthn factors on',
    compatible: is(true, 'is refused'),
    supabase: is(false, 'succeeds with a warning; passkeys and WebAuthn factors are off'),
    reason: 'Installations switch WebAuthn factors on and never name a relying party.',
  },
  healthName: {
    subject: '`GET /health`',
    compatible: is('Auth', '`name` is `Auth`, `version` is that of this service'),
    supabase: is('GoTrue', '`name` is `GoTrue`, `version` has the form of supabase/auth'),
    reason: 'Client libraries and their test suites compare the version to find out what a server can do.',
  },
  showUpstreamSettings: {
    subject: '`GET /settings`',
    compatible: is(false, 'has the providers of this service in `external`, and `…_enabled` members beside it'),
    supabase: is(
      true,
      'has `email`, `phone`, `anonymous_users` and all providers of supabase/auth in `external`, and `saml_private_key_next_configured`',
    ),
    reason: 'Pages of settings and sign-in forms read `external.email` and `external.phone`.',
  },
  logAllAuthEvents: {
    subject: 'Log lines with `auth_event`',
    compatible: is(false, 'only where `AUDIT_LOG_DISABLE_POSTGRES` keeps events out of the database'),
    supabase: is(true, 'always: one line for each event of the audit log'),
    reason: 'Queries of logs read `auth_event`.',
  },
} as const satisfies OptionRows
