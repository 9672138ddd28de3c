import { setTimeout as delay } from 'node:timers/promises'
import type { LocalServer } from '@trestle/stack/local-server.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { Command, Option } from 'commander'
import { openBench } from '../bench.ts'
import { PASSWORD, post, startSilence } from '../fixtures.ts'
import { positiveInteger, runCommand, say } from '../program.ts'
import { median } from '../statistics.ts'

interface Phase {
  readonly name: string
  readonly latenciesMs: number[]
  readonly errors: string[]
}

/** The number of mails by recipient. */
type Arrivals = Map<string, number>

const AROUND_SECONDS = 15
/** The maximum growth of the median request time while no mail can be sent. */
const SLOWER_MS = 300
/** After a long outage, attempts are up to half an hour apart. After an outage of a minute, they are much closer. */
const PATIENCE_SECONDS = 600

const command = new Command('node bench/src/drills/mail-outage.ts')
  .description('Stops the mail server of auth under load, and counts the mails that arrive afterwards.')
  .option('--seconds <number>', 'how long the mail server is stopped', positiveInteger, 60)
  .option('--rate <number>', 'sign-ups a second', positiveInteger, 10)
  .addOption(
    new Option('--how <way>', 'closed: nothing listens; silent: connections are accepted and not answered')
      .choices(['closed', 'silent'])
      .default('closed'),
  )
  .action(run)

async function run({
  seconds,
  rate,
  how,
}: {
  readonly seconds: number
  readonly rate: number
  readonly how: 'closed' | 'silent'
}): Promise<void> {
  await using bench = await openBench()
  const port = await freePort()
  const auth = await bench.deploy('auth', { env: authEnv(port) })
  const server = await auth.serve({ coreCount: 1 })

  const arrivals: Arrivals = new Map()
  const load = createLoad(server.url, rate)
  let mails = await startMailServer(arrivals, port)
  await load.warmUp()
  const before = await load.run('before', AROUND_SECONDS)
  await mails.close()
  const endSilence = how === 'silent' ? await startSilence(port) : undefined
  const outage = await load.run('outage', seconds)
  await endSilence?.()
  mails = await startMailServer(arrivals, port)
  bench.defer(() => mails.close())
  const backMs = performance.now()
  const after = await load.run('after', AROUND_SECONDS)
  const missing = await waitForAll(load.accepted, arrivals)
  const backlogSeconds = Math.round((performance.now() - backMs) / 1_000)
  report([before, outage, after], { accepted: load.accepted, arrivals, missing, backlogSeconds })
}

function authEnv(smtpPort: number): Readonly<Record<string, string>> {
  return {
    AUTH_SMTP_PORT: String(smtpPort),
    AUTH_MAILER_AUTOCONFIRM: 'false',
    AUTH_RATE_LIMIT_OTP: 'off',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  }
}

function startMailServer(arrivals: Arrivals, port: number): Promise<LocalServer> {
  const add = async (_raw: Buffer, recipients: readonly string[]) => {
    for (const recipient of recipients) arrivals.set(recipient, (arrivals.get(recipient) ?? 0) + 1)
  }
  return startSmtpListener({ add }, port)
}

function createLoad(url: string, rate: number) {
  const accepted: string[] = []
  const signUp = async (phase: Phase): Promise<void> => {
    const email = `user${accepted.length}-${phase.name}-${phase.latenciesMs.length}-${crypto.randomUUID()}@example.com`
    const startMs = performance.now()
    try {
      await post(`${url}/signup`, { email, password: PASSWORD })
      phase.latenciesMs.push(performance.now() - startMs)
      accepted.push(email)
    } catch (error) {
      phase.errors.push(error instanceof Error ? error.message : String(error))
    }
  }
  const run = async (name: string, seconds: number): Promise<Phase> => {
    const phase: Phase = { name, latenciesMs: [], errors: [] }
    const requests: Promise<void>[] = []
    for (let sent = 0; sent < seconds * rate; sent += 1) {
      requests.push(signUp(phase))
      await delay(1_000 / rate)
    }
    await Promise.all(requests)
    return phase
  }
  return { accepted, run, warmUp: () => run('warm-up', 2) }
}

async function waitForAll(accepted: readonly string[], arrivals: Arrivals): Promise<readonly string[]> {
  const missing = () => accepted.filter((email) => !arrivals.has(email))
  for (let waited = 0; waited < PATIENCE_SECONDS && missing().length > 0; waited += 1) await delay(1_000)
  return missing()
}

/** @throws Error if a request was slowed, or a mail was lost or sent twice */
function report(
  phases: readonly Phase[],
  {
    accepted,
    arrivals,
    missing,
    backlogSeconds,
  }: {
    readonly accepted: readonly string[]
    readonly arrivals: Arrivals
    readonly missing: readonly string[]
    readonly backlogSeconds: number
  },
): void {
  for (const { name, latenciesMs, errors } of phases) {
    const worst = Math.max(...latenciesMs)
    say(
      `${name.padEnd(7)} ${latenciesMs.length} sign-ups, ${errors.length} errors; median ${median(latenciesMs).toFixed(1)} ms, slowest ${worst.toFixed(1)} ms`,
    )
  }
  const twice = [...arrivals.values()].filter((count) => count > 1).length
  say(
    `${accepted.length} mails: ${missing.length} lost, ${twice} sent twice; all delivered ${backlogSeconds} s after the server was back`,
  )
  const [before, outage] = phases.map(({ latenciesMs }) => median(latenciesMs))
  const errors = phases.flatMap((phase) => phase.errors)
  if (errors.length > 0) throw new Error(`requests failed: ${errors[0]}`)
  if ((outage ?? 0) - (before ?? 0) > SLOWER_MS) throw new Error('requests were slower during the outage')
  if (missing.length > 0 || twice > 0) throw new Error('mails were lost or sent twice')
}

await runCommand(command)
