import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { z } from 'zod'

/** Titles of tests by file, each with a reason. */
type Listed = Readonly<Record<string, Readonly<Record<string, string>>>>

/** The outcome of each test, by title. If several tests of a file have the same title, one failure counts for all. */
export type Outcomes = ReadonlyMap<string, 'passed' | 'failed'>

/** On an adopted database, even the profile compatible creates a user before verification. */
const AT_ONCE = 'a user exists when the code is asked for, with the mail and the interval of a confirmation'
const REPORTED = 'an adopted database reports the errors of triggers and constraints of applications in every profile'
const OWN_PATH = 'the owner of an adopted database has a search path of its own, which no stranger can add to'
const CLIENTS = 'a session refers to a client that exists, and the case has none'
const PREFIX = 'names indexes with the prefix of AUTH_DB_NAMESPACE, which an adopted database cannot have'

/**
 * Tests that behave differently on an adopted database, by file and full title, with the reason. A run fails if a listed test
 * passes or no longer exists.
 */
export const OTHERWISE_ON_ADOPTED: Listed = {
  'services/auth/test/hooks.long.test.ts': {
    'BEFORE_USER_CREATED 403: is asked when a first code is used, and a refusal keeps the code': AT_ONCE,
  },
  'services/auth/test/pre-registration.long.test.ts': {
    'an address that a stranger has used first, AUTH_PROFILE=compatible 200: a message of POST /otp, as magiclink, removes everything of an earlier signup':
      AT_ONCE,
    'an address that a stranger has used first, AUTH_PROFILE=compatible 200: a message of POST /magiclink, as magiclink, removes everything of an earlier signup':
      AT_ONCE,
    'an address that a stranger has used first, AUTH_PROFILE=compatible 200: a message of POST /otp, as email, removes everything of an earlier signup':
      AT_ONCE,
    "an address that a stranger has used first, AUTH_PROFILE=compatible 200: later requests of a stranger change nothing in the owner's message":
      AT_ONCE,
    'an address that a stranger has used first, AUTH_PROFILE=strict 200: a message of POST /otp, as magiclink, removes everything of an earlier signup':
      AT_ONCE,
    'an address that a stranger has used first, AUTH_PROFILE=strict 200: a message of POST /magiclink, as magiclink, removes everything of an earlier signup':
      AT_ONCE,
    'an address that a stranger has used first, AUTH_PROFILE=strict 200: a message of POST /otp, as email, removes everything of an earlier signup':
      AT_ONCE,
    "an address that a stranger has used first, AUTH_PROFILE=strict 200: later requests of a stranger change nothing in the owner's message":
      AT_ONCE,
  },
  'services/auth/test/error-model/error-model.long.test.ts': {
    'the error oauthClientRequired 400: answers invalid_client: Client authentication required for OAut…': CLIENTS,
    'has a case for every error status that an operation documents, and no other': CLIENTS,
  },
  'services/auth/test/adoption/strangers.long.test.ts': {
    'functions and operators of strangers in a schema of the search path of the owner are not run where an import writes':
      OWN_PATH,
  },
  'services/auth/test/profiles.long.test.ts': {
    'AUTH_PROFILE=compatible voids the password of a stranger once the owner of the address has signed in': AT_ONCE,
    'AUTH_PROFILE=strict voids the password of a stranger once the owner of the address has signed in': AT_ONCE,
  },
  'services/auth/test/auth-js/sign-in.long.test.ts': {
    'signInWithOtp creates a user for a new email once the code is verified': AT_ONCE,
  },
  'services/auth/test/compatibility/compatibility.long.test.ts': {
    'AUTH_PROFILE=compatible createUserOnCodeRequest: behaves as the table says': AT_ONCE,
    'AUTH_PROFILE=compatible showErrorsOfTriggers: behaves as the table says': REPORTED,
  },
  'services/auth/src/address-changes/request-address-change.long.test.ts': {
    'PUT /user with an email: simple change 200: takes over the address of a pending sign-up': AT_ONCE,
  },
  'services/auth/src/messages/mail-job.long.test.ts': {
    'SEND_EMAIL sends mails of every kind, also to pending sign-ups': AT_ONCE,
    'SEND_EMAIL is called again after an outage, and fails no request': AT_ONCE,
    'AFTER_USER_CREATED is told of signups, anonymous users, invitations and first codes': AT_ONCE,
  },
  'services/auth/src/routes/magiclink.long.test.ts': {
    'POST /magiclink 200: an unknown address becomes a user only when its link is used': AT_ONCE,
    'POST /magiclink 200: makes an anonymous user permanent when an admin has set the address': AT_ONCE,
    'POST /magiclink 200: verifies a pending sign-up as a signup without a password': AT_ONCE,
    'POST /magiclink 200: a second request replaces the metadata of the pending sign-up': AT_ONCE,
    'POST /magiclink 200: the address of a pending sign-up does not block a signup': AT_ONCE,
  },
  'services/auth/src/routes/otp.long.test.ts': {
    'POST /otp with an email 422: refuses an unknown address and that of a pending sign-up when create_user is false':
      AT_ONCE,
    'POST /otp with a phone 200: an unknown number becomes a user when its code is used': AT_ONCE,
  },
  'services/auth/src/routes/resend.long.test.ts': {
    'POST /resend 200: sends the code of a pending sign-up again': AT_ONCE,
  },
  'services/auth/src/use-cases/grant-auth-code.long.test.ts': {
    'POST /token?grant_type=pkce 200: the session has the authentication method of the flow': AT_ONCE,
  },
  'services/auth/src/use-cases/clean-up.long.test.ts': { 'clean-up finds every batch by an index': PREFIX },
}

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
})

/**
 * Reads a report of vitest's reporter `json`.
 * @param root the folder to which file names are relative
 * @returns the outcome of each test as `file > title`; a file that fails as a whole is a failed test without a title
 */
export function readOutcomes(path: string, root: string): Outcomes {
  const outcomes = new Map<string, 'passed' | 'failed'>()
  for (const { name, status, assertionResults } of Report.parse(JSON.parse(readFileSync(path, 'utf8'))).testResults) {
    const file = relative(root, name)
    const hasFailed = assertionResults.some((result) => result.status === 'failed')
    if (status === 'failed' && !hasFailed) outcomes.set(file, 'failed')
    for (const { fullName, status: outcome } of assertionResults) {
      const title = `${file} > ${fullName}`
      if (outcome === 'failed') outcomes.set(title, 'failed')
      if (outcome === 'passed' && outcomes.get(title) === undefined) outcomes.set(title, 'passed')
    }
  }
  return outcomes
}

/**
 * Compares a run on adopted databases with the expected failures.
 * @param run the outcomes on adopted databases
 * @param expected tests that may fail there
 * @param baseline the outcomes on databases created by `migrate`; if `undefined`, all tests pass there
 * @returns a line for each unexpected failure, and for each wrong entry of the list
 */
export function judgeAdopted(run: Outcomes, expected: Listed, baseline?: Outcomes): readonly string[] {
  const listed = titlesIn(expected)
  const failed = titlesOf(run, 'failed')
  const unexpected = failed.filter((title) => !listed.includes(title) && baseline?.get(title) !== 'failed')
  const files = new Set([...run.keys()].map(fileOf))
  const wrong = listed.filter((title) => files.has(fileOf(title)) && run.get(title) !== 'failed')
  return [
    ...unexpected.map((title) => `fails on an adopted database: ${title}`),
    ...(baseline ? [] : wrong.map((title) => `is listed but does not fail: ${title}`)),
  ]
}

export function describeRun(run: Outcomes, baseline?: Outcomes): string {
  const failed = titlesOf(run, 'failed')
  const both = failed.filter((title) => baseline?.get(title) === 'failed')
  const others = failed.filter((title) => !both.includes(title))
  const passed = `${titlesOf(run, 'passed').length} passed on adopted databases, ${others.length} failed`
  return baseline ? `${passed}, and ${both.length} others failed on migrated ones too` : passed
}

function titlesOf(outcomes: Outcomes, wanted: 'passed' | 'failed'): readonly string[] {
  return [...outcomes].filter(([, outcome]) => outcome === wanted).map(([title]) => title)
}

function titlesIn(listed: Listed): readonly string[] {
  return Object.entries(listed).flatMap(([file, tests]) => Object.keys(tests).map((title) => `${file} > ${title}`))
}

const fileOf = (title: string) => title.split(' > ', 1)[0] ?? title
