import { setTimeout as delay } from 'node:timers/promises'
import { createMailStore } from '@trestle/stack/mail/mail-store.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import { z } from 'zod'
import { openBench } from '../bench.ts'
import { PASSWORD } from '../fixtures.ts'
import { readCount, report, say } from '../program.ts'
import { type CrashLoad, crashRepeatedly } from './loads/crash-loop.ts'
import { send } from './loads/send.ts'

// Kills auth repeatedly while users sign up and confirm: `node bench/src/drills/auth-crash.ts [kills]`, 20 by default. Exit
// status 1 if a confirmed user is missing, if a user lacks an identity, if a link or code was used twice, or if a mail did not
// arrive.

const USERS_AT_ONCE = 6
const LIFE_MS = 2_500
const PATIENCE_MS = 5_000
/** The queue notices a killed worker only after a while, and then gives its jobs to another worker. */
const LAST_MAIL_MS = 180_000
const MAILS_MAX = 100_000
const Emails = z.array(z.object({ email: z.string() }))

const kills = readCount('kills', 20)
await using bench = await openBench()
const mails = createMailStore(() => new Date(), { mailsMax: MAILS_MAX, bytesMax: Number.MAX_SAFE_INTEGER })
const smtp = await startSmtpListener(mails, 0)
bench.defer(smtp.close)
const auth = await bench.deploy('auth', {
  env: { AUTH_SMTP_PORT: String(smtp.port), AUTH_RATE_LIMIT_EMAIL_SENT: 'off' },
})
let signUps = 0
/** The number of sessions from the verifications of each user. */
const sessions = new Map<string, number>()
await crashRepeatedly({
  bench,
  service: auth,
  kills,
  victims: ['the service'],
  lifeMs: LIFE_MS,
  clients: USERS_AT_ONCE,
  prepare: async () => signUpAndConfirm,
  describe: () => `${signUps} sign-ups`,
})
report(await findProblems(), 'every user has an identity, nothing was used twice, every mail arrived')

/** Signs a user up, waits for the mail, and uses its link and its code, each twice, at the same time. */
async function signUpAndConfirm(load: CrashLoad): Promise<void> {
  const email = `user${++signUps}@example.com`
  if ((await ask(load, '/signup', { email, password: PASSWORD })) !== 200) return
  const mail = await findMail(load, email)
  if (!mail) return
  for (let round = 0; round < 2; round += 1) {
    const answers = await Promise.all([
      ask(load, '/verify', { type: 'signup', token_hash: mail.token }),
      ask(load, '/verify', { type: 'signup', email, token: mail.code }),
    ])
    sessions.set(email, (sessions.get(email) ?? 0) + answers.filter((status) => status === 200).length)
  }
}

/** @returns the status, or `undefined` if the server ended before its response */
async function ask(load: CrashLoad, path: string, body: object): Promise<number | undefined> {
  const outcome = await send(await load.url(), { method: 'POST', path, body })
  if (typeof outcome !== 'string') return outcome.status
  load.unanswered += 1
  return undefined
}

/** Waits for the mail of a sign-up. After too long, a user signs up again. The drill finally checks that the mail came. */
async function findMail(load: CrashLoad, email: string) {
  const endMs = performance.now() + PATIENCE_MS
  while (!load.isOver && performance.now() < endMs) {
    const html = mails.list().find(({ to }) => to.includes(email))?.html
    const token = /token=([0-9a-f]{56})/.exec(html ?? '')?.[1]
    const code = /<strong>(\d{6})<\/strong>/.exec(html ?? '')?.[1]
    if (token !== undefined && code !== undefined) return { token, code }
    await delay(20)
  }
  return undefined
}

async function findProblems(): Promise<readonly string[]> {
  const list = async (text: string) => Emails.parse(await auth.execute(text)).map(({ email }) => email)
  const users = await list('SELECT email FROM auth.users')
  const [missing, again] = await countMails(users)
  const withoutIdentity = await list(
    'SELECT email FROM auth.users u WHERE NOT EXISTS (SELECT FROM auth.identities i WHERE i.user_id = u.id)',
  )
  const signedInTwice = await list(
    'SELECT u.email FROM auth.users u JOIN auth.sessions s ON s.user_id = u.id GROUP BY u.id HAVING count(*) > 1',
  )
  const confirmed = [...sessions].filter(([, times]) => times > 0).map(([email]) => email)
  const usedTwice = [...sessions].filter(([, times]) => times > 1).map(([email]) => email)
  say(`${users.length} users, ${confirmed.length} confirmed; ${again} mails came twice`)
  return [
    ...confirmed.filter((email) => !users.includes(email)).map((email) => `${email} was confirmed and is missing`),
    ...withoutIdentity.map((email) => `${email} has no identity`),
    ...signedInTwice.map((email) => `${email} has more than one session`),
    ...usedTwice.map((email) => `the mail of ${email} was used more than once`),
    ...missing.map((email) => `no mail to ${email}`),
  ]
}

/** Waits for the last mails. @returns the users without a mail, and the number of repeated mails */
async function countMails(users: readonly string[]): Promise<readonly [readonly string[], number]> {
  const endMs = performance.now() + LAST_MAIL_MS
  for (;;) {
    const counts = new Map<string, number>()
    for (const { to } of mails.list()) for (const email of to) counts.set(email, (counts.get(email) ?? 0) + 1)
    const missing = users.filter((email) => !counts.has(email))
    if (missing.length === 0 || performance.now() > endMs) {
      return [missing, [...counts.values()].filter((count) => count > 1).length]
    }
    await delay(500)
  }
}
