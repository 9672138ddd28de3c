import { type BehaviourRows, is, type KeptBehaviour } from './behaviour.ts'

/** How hooks are called, and what their answers mean, by profile. */
export const hookBehaviours = {
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
} as const satisfies BehaviourRows

/** Differences from supabase/auth that every profile keeps: hooks. */
export const keptHookBehaviours: readonly KeptBehaviour[] = [
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
]
