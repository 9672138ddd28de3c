import { type BehaviourRows, is, type KeptBehaviour } from './behaviour.ts'

/** Sign-ups, and the hooks and mails about them. */
export const signUpBehaviours = {
  confirmedDuplicateStatus: {
    subject: 'A sign-up with a taken address under autoconfirm',
    compatible: is(400, '400 `user_already_exists`'),
    supabase: is(422, '422 `user_already_exists`'),
    reason: 'Clients of supabase/auth know a taken address by this status.',
  },
  revealTakenAddress: {
    subject: 'A sign-up with the address of a confirmed user, without autoconfirm',
    compatible: is(false, 'cannot be told from a fresh one'),
    supabase: is(true, '200 with `identities: []` and `role: ""`'),
    reason: 'Applications test `data.user.identities.length === 0` to say that the address is taken.',
  },
  revealRepeatedSignUp: {
    subject: 'Another sign-up with the address of a user who has not confirmed',
    compatible: is(false, '200, shows what was sent just now'),
    supabase: is(true, '429 within the interval between messages, later the user as stored'),
    reason: 'Applications show the time to wait, and that the address waits for its confirmation.',
  },
  createUserOnCodeRequest: {
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
  confirmerOwnsAnonymousAccount: {
    subject: 'The first confirmation of an address that an anonymous user has asked for',
    compatible: is(
      true,
      'ends the sessions of the account and removes its password: a stranger may have asked with the address of somebody else. A password that comes with the confirmation stays. An anonymous user who becomes permanent otherwise loses the changes of address that still wait',
    ),
    supabase: is(false, 'keeps sessions and password, and the changes of address that still wait'),
    reason: 'Applications go on with the session in which they asked for the address.',
  },
  showUserBesideSession: {
    subject: 'The answer of a `POST /signup` that signs in',
    compatible: is(true, 'has the members of the user beside those of the session'),
    supabase: is(false, 'is a session'),
    reason: 'Programs that log or store the answer take it for a session.',
  },
  showErrorsOfTriggers: {
    subject: 'A trigger or a constraint of an application that refuses a statement',
    compatible: is(false, '500 `unexpected_failure`; its report is in the log'),
    supabase: is(true, 'told: `{code, message, hint, detail}` with the SQLSTATE; `PTnnn` is the status nnn'),
    reason: 'Applications refuse sign-ups by RAISE EXCEPTION in a trigger, and read the text.',
  },
} as const satisfies BehaviourRows

/** Differences from supabase/auth that every profile keeps: signing up. */
export const keptSignUpBehaviours: readonly KeptBehaviour[] = [
  {
    subject: 'Password and `data` of an account that is confirmed by a message',
    ours: 'Those of the request that sent the message; after a code of `POST /otp` no password',
    theirs: 'Those of the first sign-up',
    reason: 'Anybody can sign up with the address of somebody else, and would know the password of its owner.',
  },
  {
    subject: 'Identities at providers that have verified no address, at the first confirmation of a sign-up',
    ours: 'Removed, as at that of an invited user whom nobody has claimed',
    theirs: 'Stay',
    reason: 'A stranger who has linked one would have a way in that the owner does not see.',
  },
  {
    subject: 'A change to the address of an account that nobody has confirmed, claimed or signed in to',
    ours: 'The address goes to the user who proves it, by a message or at a provider',
    theirs: '422 `email_exists` or `phone_exists`',
    reason: 'A stranger who signs up with an address keeps its owner from it otherwise.',
  },
  {
    subject: 'An invitation, once somebody has asked for a mail of a sign-up to its address',
    ours: 'Stays valid',
    theirs: 'Its link is that of the sign-up, so the former one is void',
    reason: 'Anybody can ask for such a mail, and would end the invitation of somebody else.',
  },
]
