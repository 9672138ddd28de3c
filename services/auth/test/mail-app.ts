import { type MailSink, startMailSink } from '@trestle/testing/mail-sink.ts'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { startWork, stopWork } from '../src/commands/serve.ts'
import { tasks } from '../src/migrations.ts'
import { openTestApp, type TestApp, type TestAppOptions } from './auth-app.ts'
import { type SmsStub, startSmsStub } from './sms-stub.ts'

type Email = MailSink['mails'][number]

/** The parts of a mail that a user needs: its link, the link's parts, and the code. */
export interface ReadMail {
  readonly mail: Email
  readonly link: URL
  readonly token: string
  readonly code: string
}

/** The service with its job worker, and a mail server and an SMS gateway that record messages. */
export interface MailApp extends TestApp {
  readonly sms: SmsStub
  /** Waits for the next mail to an address. */
  readMail(to: string): Promise<ReadMail>
  /** Waits until all work of earlier requests is done. Nothing more is sent after that. */
  idle(): Promise<void>
  /** Makes the mail server refuse every mail. */
  refuseMails(): void
  /** Makes the mail server accept mails again. */
  takeMails(): void
  /** The recipients of all mails. */
  recipients(): readonly (string | undefined)[]
}

/** Opens the service with a mail server and an SMS gateway on loopback. */
export async function openMailApp(
  settings: Readonly<Record<string, string>> = {},
  options: Omit<TestAppOptions, 'settings'> = {},
): Promise<MailApp> {
  const [sink, sms] = await Promise.all([startMailSink(), startSmsStub()])
  const testApp = await openTestApp({
    ...options,
    settings: { AUTH_SMTP_PORT: String(sink.port), AUTH_SMTP_SENDER_NAME: 'Trestle', ...sms.settings, ...settings },
  })
  const { deps } = testApp
  await deps.jobs.open()
  await startWork(deps)
  return {
    ...testApp,
    sms,
    readMail: async (to) => readMail(await sink.take((mail) => recipient(mail) === to)),
    idle: () => expect.poll(() => countJobs(testApp)).toBe(0),
    refuseMails: () => {
      sink.refuse = true
    },
    takeMails: () => {
      sink.refuse = false
    },
    recipients: () => sink.mails.map(recipient),
    close: async () => {
      await stopWork(deps)
      await testApp.close()
      await Promise.all([sink.close(), sms.close()])
    },
  }
}

/**
 * Opens the service with other settings on an open service's database. Both share the clock, worker, mail server and SMS gateway.
 * The first service must close later.
 */
export async function openBeside(
  host: MailApp,
  settings: Readonly<Record<string, string>>,
  { replace = () => ({}), ...options }: Omit<TestAppOptions, 'settings' | 'database'> = {},
): Promise<MailApp> {
  const { database, sms, clock } = host
  const { jobs, outbox } = host.deps
  const service = await openTestApp({
    ...options,
    settings: { ...sms.settings, ...settings },
    database,
    replace: (deps) => ({ jobs, outbox, now: clock.now, ...replace(deps) }),
  })
  return { ...host, ...service, clock }
}

async function countJobs({ deps }: TestApp): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT ((SELECT count(*) FROM ${sql.table('outbox')}) + (SELECT count(*) FROM ${sql.id(deps.names.jobSchema, 'job')}
      WHERE state IN ('created', 'retry', 'active') AND name IN (${sql.join(tasks.map(({ name }) => name))})))::int AS count
  `.execute(deps.db)
  return rows[0]?.count ?? 0
}

function recipient(mail: Email): string | undefined {
  const to = mail.to?.[0]
  return to && 'address' in to ? to.address : undefined
}

function readMail(mail: Email): ReadMail {
  const address = /href="([^"]*)"/.exec(mail.html ?? '')?.[1]?.replaceAll('&amp;', '&') ?? 'http://no.link'
  const link = new URL(address)
  return {
    mail,
    link,
    token: link.searchParams.get('token') ?? '',
    // A code stands alone. Digits inside an address, such as a UUID, are not a code.
    code: /(?<!\S)\d{6,10}(?!\S)/.exec(mail.text ?? '')?.[0] ?? '',
  }
}
