import { type BehaviourRows, is, type KeptBehaviour } from './behaviour.ts'

/** Mails and SMS: when they are sent, and what their links and codes do. */
export const messageBehaviours = {
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
    reason: 'One interval covers all links of a kind, whoever asks for them.',
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
      'is sent in the request, before anything is stored. A gateway that refuses or is away fails it with 422 `sms_send_failed`, and it changes nothing. A repeated `POST /resend` for a phone to which nothing is sent is 200, not 429',
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
} as const satisfies BehaviourRows

/** Differences from supabase/auth that every profile keeps: messages. */
export const keptMessageBehaviours: readonly KeptBehaviour[] = [
  {
    subject: 'A mail server that is away',
    ours: 'The mail is sent by the queue, later',
    theirs: '500, and the user is not kept',
    reason: 'A mail server that is away must neither lose a user nor slow a request.',
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
