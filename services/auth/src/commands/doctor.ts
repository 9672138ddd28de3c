import { type Check, checkSettings, findOldData, runChecks } from '@trestle/common/commands/run-checks.ts'
import { type DeadLetterJobs, listDeadLetterJobs } from '@trestle/jobs/list-jobs.ts'
import { commonChecks, compareClocks, expectHttps } from '@trestle/service/common-checks.ts'
import { describeAdoption } from '../adoption/entry.ts'
import { namedAsSet } from '../config/profile.ts'
import type { AuthConfig } from '../config.ts'
import type { ProcessDeps } from '../deps.ts'
import { listCustomProviders } from '../external-providers/custom-provider-repository.ts'
import { warnOfSharedCallback } from '../external-providers/find-provider.ts'
import { checkTemplates } from '../messages/mailer.ts'
import { migrateOptions, tasks } from '../migrations.ts'
import { expectOwnSchema } from '../open-database.ts'
import { PHONE_DATA } from '../requests/fields.ts'
import { requireOwnJobSchema } from '../schema/catalog.ts'
import { belongsToUpstream } from '../schema/existing-schema.ts'
import { countPhonePairs } from '../users/user-repository.ts'
import { createQuietDeps } from './operator-deps.ts'

const checks: readonly Check<ProcessDeps>[] = [
  {
    name: 'clock',
    advice: 'let both machines follow the same time source (NTP)',
    needs: ['database'],
    run: ({ db, now }) => compareClocks(db, now()),
  },
  {
    name: 'signing keys',
    advice:
      'set the AUTH_SECURITY_DATABASE_ENCRYPTION_KEY (or JWT secret) that encrypted them, or correct AUTH_JWT_KEYS',
    needs: ['database'],
    run: async (deps) => {
      await deps.signingKeys.load()
      const count = deps.signingKeys.publicJwks().length
      return count === 0 ? 'tokens are signed with AUTH_JWT_SECRET' : `${count} public`
    },
  },
  {
    name: 'SMTP',
    advice: 'start the mail server, or correct AUTH_SMTP_HOST, AUTH_SMTP_PORT, AUTH_SMTP_USER and AUTH_SMTP_PASS',
    run: async (deps) => {
      if (deps.hooks.isOn('SEND_EMAIL')) return 'not used, a hook sends mails'
      if (!deps.config.mail.smtp) return 'none, mails are dropped'
      await deps.mailer.check()
      return 'answers'
    },
  },
  {
    name: 'URLs',
    advice: 'put the service behind a TLS proxy and set its https address as AUTH_API_EXTERNAL_URL',
    run: async ({ config }) => expectHttps(config.server.externalUrl),
  },
  {
    name: 'SMS',
    advice: 'set AUTH_SMS_PROVIDER and the account of that gateway, or AUTH_EXTERNAL_PHONE_ENABLED=false',
    run: async (deps) => {
      const { signup, sms } = deps.config
      if (deps.hooks.isOn('SEND_SMS')) return 'not used, a hook sends them'
      const isNeeded = signup.phoneEnabled && !sms.autoconfirm
      if (!sms.gateway && isNeeded) throw new Error('phones may sign in, and no gateway can be used')
      return sms.gateway ? `by ${sms.gateway.name}` : 'none'
    },
  },
  {
    name: 'phone numbers',
    advice: 'install a newer release: countries change how their numbers are written',
    needs: ['database'],
    run: describePhones,
  },
  {
    name: 'mail templates',
    advice: 'correct the address or the template; the built-in text is sent meanwhile',
    run: async (deps) => {
      const { count, problems } = await checkTemplates(deps.config.mail, deps.outbound)
      const all = [...problems, ...deps.config.templateProblems]
      if (all.length > 0) throw new Error(all.join(', '))
      return count === 0 ? 'built in' : `${count} fetched`
    },
  },
  {
    name: 'rate limits',
    advice: 'start Redis, or correct AUTH_REDIS_URL; each process counts for itself meanwhile',
    run: async ({ config, limiters }) => {
      await limiters.check()
      return `counted in ${config.rateLimits.store}`
    },
  },
  {
    name: 'schema',
    advice:
      'a function that somebody else puts there would run with the rights of the service; a start refuses such a schema',
    needs: ['database'],
    run: async ({ config, names }) => {
      await expectOwnSchema(config)
      return `nobody else may create functions in ${names.schema}`
    },
  },
  {
    name: 'adoption',
    advice: 'run auth adopt again, or adopt --undo; set the keys of supabase/auth that encrypted these secrets',
    needs: ['database'],
    run: describeAdoption,
  },
  {
    name: 'dead jobs',
    advice: 'look at the log for more; they stay in the queue of the same name with _dead for 90 days',
    needs: ['database'],
    run: async ({ db, names }) => {
      await requireOwnJobSchema(db, names)
      const dead = await listDeadLetterJobs({ db, schema: names.jobSchema, tasks })
      if (dead.length === 0) return 'none'
      throw new Error(dead.map(describeDeadLetterJobs).join(', '))
    },
  },
]

/** Checks everything that the service needs and prints a line for each check. Resolves to `false` if a check fails. */
export async function doctor(load: () => AuthConfig, print: (line: string) => void): Promise<boolean> {
  const config = checkSettings(load, print)
  if (config === undefined) return false
  for (const line of [...config.notes, ...config.warnings]) print(`note  ${line}`)
  const deps = await createQuietDeps(config)
  const common = commonChecks({
    program: 'auth',
    logFile: config.server.logFile,
    database: { url: config.database.url, setting: 'AUTH_DB_DATABASE_URL', prepared: config.database.prepared },
    migrations: migrateOptions(config),
  })
  const printAsSet = (line: string) => print(namedAsSet(line, config.aliases))
  const isHealthy = await runChecks(await fitChecks([...common, ...checks], deps), deps, printAsSet)
  // Ignore a database that does not answer, because another check reports it.
  const custom = await listCustomProviders(deps.db, undefined).catch(() => [])
  for (const line of warnOfSharedCallback(config, custom)) print(`note  ${line}`)
  await deps.close()
  return isHealthy
}

/** @throws Error if the data about phone numbers are old */
async function describePhones({ config, db, now }: ProcessDeps): Promise<string> {
  if (!config.compatibility.parsePhones) return 'taken as they are sent'
  for (const { name, asOf } of findOldData([PHONE_DATA], now()))
    throw new Error(`${name} of ${asOf}, older than a year`)
  const { count, first } = await countPhonePairs(db)
  const data = `by data of ${PHONE_DATA.asOf}`
  return first === undefined
    ? data
    : `${data}; users who have one number in two forms: ${count}, such as ${first.join(' and ')}`
}

/** The checks that need tables of this service, which an adoption creates. */
const AFTER_ADOPTION = ['migrations', 'signing keys', 'phone numbers', 'adoption', 'dead jobs']

/** Replaces the checks in `AFTER_ADOPTION` for a database that only supabase/auth has used. */
const notAdopted: Check<unknown> = {
  name: 'adoption',
  advice: 'run: auth adopt --check',
  run: async () => {
    throw new Error(
      'this is a database of supabase/auth, so not checked: migrations, signing keys, phone numbers, dead jobs',
    )
  },
}

/** Returns the checks that apply to this database, or all if it does not answer: one of them reports the outage. */
async function fitChecks(
  all: readonly Check<ProcessDeps>[],
  { db, names }: ProcessDeps,
): Promise<readonly Check<ProcessDeps>[]> {
  const isUpstream = await belongsToUpstream(db.withoutPlugins(), names).catch(() => false)
  return isUpstream ? [...all.filter(({ name }) => !AFTER_ADOPTION.includes(name)), notAdopted] : all
}

function describeDeadLetterJobs({ task, count, reason, lastAt }: DeadLetterJobs): string {
  return `${count} of ${task} (${reason}; last at ${lastAt.toISOString()})`
}
