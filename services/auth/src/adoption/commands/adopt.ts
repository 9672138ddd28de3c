import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { printable } from '@trestle/common/lifecycle/printable.ts'
import { Command, Option } from 'commander'
import { listFirst } from '../../schema/existing-schema.ts'
import type { AdoptionDeps, OpenAdoptionDeps } from '../adoption-record.ts'
import type { IdentityReader } from '../check/list-dependents.ts'
import { describeAdmins, describeOtherInstances } from '../report.ts'
import type { UndoCosts } from '../undo/drop-adoption.ts'
import type { Loss } from '../upstream-tables.ts'
import { type Adoption, adoptDatabase, prepareAdoption } from '../use-cases/adopt-database.ts'
import { type AdoptionCheck, checkAdoption } from '../use-cases/check-adoption.ts'
import { type ForgetCosts, forgetAdoption, undoAdoption } from '../use-cases/undo-adoption.ts'

type Print = (line: string) => void

interface AdoptFlags {
  readonly check?: true
  readonly prepare?: true
  readonly undo?: true
  readonly forget?: true
  readonly force?: true
  readonly yes?: true
}

/** `auth adopt`: converts a database of supabase/auth in place into one of this service, and back. */
export function adoptCommand(open: OpenAdoptionDeps, { print: write, ask }: Conversation): Command {
  // Names and emails in the database may come from strangers.
  const print: Print = (line) => write(printable(line))
  return new Command('adopt')
    .exitOverride()
    .description(
      'turn a database of supabase/auth into one of this service, in place: --prepare while the old service serves, then without an option once it has ended',
    )
    .option('--check', 'say what would carry over and what would not, and change no row')
    .addOption(
      new Option(
        '--prepare',
        'do what may take long while the old service serves, and stop before the switch',
      ).conflicts(['check', 'undo', 'forget']),
    )
    .addOption(new Option('--undo', 'give the old service its database back').conflicts(['check', 'forget', 'force']))
    .addOption(new Option('--forget', 'drop what --undo needs').conflicts(['check', 'force']))
    .option(
      '--force',
      'go on where only a newer version of supabase/auth, or a function that takes all columns of a table, is in the way',
    )
    .option('--yes', 'do not ask before --undo or --forget')
    .action(async (flags: AdoptFlags) => {
      const deps = await open()
      await run(deps, flags, { print, ask })
        .catch(throwWithFunction)
        .finally(() => deps.close())
    })
}

/** Adds the name of the failed database function to the error, which does not name a failed event trigger. */
function throwWithFunction(error: unknown): never {
  const place = findFunction(error)
  if (place === undefined || !(error instanceof Error)) throw error
  throw new Error(`${error.message} (${place})`, { cause: error })
}

function findFunction(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (!('where' in error)) return findFunction(error.cause)
  return /^PL\/pgSQL function (?!inline_code_block).*$/m.exec(String(error.where))?.[0]
}

async function run(
  deps: AdoptionDeps,
  { check, prepare, undo, forget, force, yes }: AdoptFlags,
  { print, ask }: Conversation,
): Promise<void> {
  if (check) return report(await checkAdoption(deps, { force: force === true }), print)
  const decide = (lines: readonly string[], question: string) =>
    confirm({ print, ask }, { lines, question, isAnswered: yes === true })
  if (forget) {
    const isDone = await forgetAdoption(deps, (costs) =>
      decide(describeForgotten(costs), 'Drop this, without a way back?'),
    )
    return print(isDone ? 'dropped what adopt --undo needs' : 'nothing changed')
  }
  if (undo) {
    const isDone = await undoAdoption(deps, (costs) =>
      decide(describeCosts(costs), 'Give the old service its database back?'),
    )
    return print(isDone ? 'the old service has its database back' : 'nothing changed')
  }
  const options = { force: force === true, report: print }
  if (prepare) {
    if (!(await prepareAdoption(deps, options))) return print('the database is adopted already: start the service')
    const { losses } = await checkAdoption(deps, { force: force === true })
    printLosses(losses, print)
    return print('prepared: end the old service, run auth adopt, and start this service; auth adopt --undo gives up')
  }
  for (const line of describeAdoption(await adoptDatabase(deps, options))) print(line)
}

function describeForgotten({ switchedAt, rows }: ForgetCosts): readonly string[] {
  return [
    `this service took over at ${switchedAt.toISOString()}; auth adopt --undo is not possible afterwards`,
    ...[...rows].map(([table, count]) => `drops      ${table}: ${count} rows`),
  ]
}

function describeCosts(costs: UndoCosts): readonly string[] {
  const { hasSwitched, sessions, passwords, providers, factors, passkeys, recoveryCodes, operators, spoilt } = costs
  const keptValue = describeKeptValue(costs)
  if (!hasSwitched)
    return ['this service has not taken over: no session ends, and the old service may go on serving', ...keptValue]
  return [
    `${sessions.ended} of ${sessions.all} sessions have begun, refreshed or ended by a theft since the switch: their users sign in again`,
    ...(passwords > 0 ? [`${passwords} users have a password in a form that supabase/auth does not know`] : []),
    ...(factors.phones > 0
      ? [
          `${factors.phones} phones are second factors, which this version of supabase/auth cannot have: they are removed`,
        ]
      : []),
    ...(factors.keys > 0
      ? [
          `${factors.keys} security keys are second factors, which this version of supabase/auth cannot have: they are removed`,
        ]
      : []),
    ...(factors.bareUsers > 0
      ? [`${factors.bareUsers} users have no other second factor: they sign in with a password alone there`]
      : []),
    ...(passkeys > 0
      ? [
          `${passkeys} passkeys are removed, which this version of supabase/auth cannot have: nobody signs in by them there`,
        ]
      : []),
    ...(recoveryCodes > 0
      ? [`${recoveryCodes} users have recovery codes, which supabase/auth cannot have: they are removed`]
      : []),
    ...(spoilt.length > 0
      ? [
          `${spoilt.length} passkeys and second factors cannot be read: those from before the switch stay as they were then, later ones are lost: ${listFirst(spoilt)}`,
        ]
      : []),
    ...(operators > 0 ? [`${operators} users are operators of the console, which supabase/auth does not have`] : []),
    ...providers.map(
      (each) => `supabase/auth cannot have the provider ${each} as it is now: nobody signs in by it there`,
    ),
    ...keptValue,
  ]
}

function describeKeptValue({ phoneValueKeptBy }: Pick<UndoCosts, 'phoneValueKeptBy'>): readonly string[] {
  if (phoneValueKeptBy.length === 0) return []
  return [
    `the type factor_type keeps the value phone, which nothing uses there: no type without it can take its place because of ${phoneValueKeptBy.join(', ')}`,
  ]
}

function describeAdoption({ version, switchMs, leftProviders, losses }: Adoption): readonly string[] {
  return [
    ...leftProviders.map(
      (each) => `the provider ${each} was not copied: create it again by POST /admin/custom-providers`,
    ),
    ...losses.map(({ what, count }) => `lost       ${count} ${what}`),
    switchMs === undefined
      ? `migration ${version} of supabase/auth had been adopted`
      : `adopted migration ${version} of supabase/auth; requests waited for ${(switchMs / 1_000).toFixed(1)} s`,
    'start the service, with AUTH_PROFILE=supabase unless names GOTRUE_… select it; auth adopt --undo goes back',
  ]
}

const AFTER_SWITCH = {
  switched:
    'unfinished this service has taken over, and its audit log is not copied yet: do not start the old one, run auth adopt again, and start this service',
  finished: 'ok         the database is adopted already: start the service',
  forgotten: 'ok         the database is adopted for good, without a way back: start the service',
} as const

/** Prints the result of `--check`. @throws Error if the database cannot be adopted */
function report(check: AdoptionCheck, print: Print): void {
  const { version, earlierRun, obstacles, rows, notYetServed, losses, askedAgain, sharedEmails, admins, dependents } =
    check
  if (version !== 'none') print(`migration  ${version}`)
  if (earlierRun !== 'none' && earlierRun !== 'begun') {
    print(AFTER_SWITCH[earlierRun])
    return
  }
  const encoding = describeEncoding(check.encoding)
  if (encoding !== undefined) print(`encoding   ${encoding}`)
  for (const [table, count] of rows) print(`rows       ${table}: ${count}`)
  for (const [table, count] of notYetServed) print(`not served ${table}: ${count} rows stay as they are`)
  printLosses(losses, print)
  if (askedAgain > 0)
    print(
      `again      ${askedAgain} users have a factor by SMS or WebAuthn, or a passkey: who is being asked for it at the switch is asked again`,
    )
  if (check.tokensWithoutSession > 0)
    print(
      `sessions   ${check.tokensWithoutSession} refresh tokens are from before sessions: auth adopt begins a session for each`,
    )
  for (const email of sharedEmails) print(`shared     ${email}: the oldest confirmed user keeps it`)
  for (const group of admins) print(describeAdmins(group))
  for (const line of describeOtherInstances(check.otherInstances)) print(line)
  for (const { object, table } of dependents)
    print(`depends    ${object} on ${table}: it would read the rows of the old service; change or drop it`)
  for (const { object, table } of check.published)
    print(
      `depends    ${object} on ${table}: it would publish columns of this service; name those that it needs, or add them at the subscriber`,
    )
  for (const name of check.publications)
    print(`depends    publication ${name}: it would publish the tables of this service; name the tables that it needs`)
  for (const reader of check.identityReaders) print(describeReader(reader))
  const { path, functions } = check.openTriggers
  for (const name of functions)
    print(`path       ${name} has no search_path of its own: it would not run under ${path}`)
  for (const name of check.inhabitants) print(`left alone ${name}`)
  for (const doubt of check.doubts) print(`look at    ${doubt}`)
  if (obstacles.length > 0) throw new Error(obstacles.join('\n'))
  const { prepare, pause } = check.seconds
  print(
    `time       on two idle cores, about ${prepare} s for --prepare, while the old service serves, then about ${pause} s for auth adopt, while nobody does; busy cores take several times as long`,
  )
  print(
    earlierRun === 'begun'
      ? 'ok         an adoption has begun: run auth adopt again, which continues it'
      : 'ok         auth adopt can run',
  )
}

/** @param encoding its name in PostgreSQL @returns `undefined` if the database can store every character */
function describeEncoding(encoding: string): string | undefined {
  if (encoding === 'UTF8') return undefined
  if (encoding === 'SQL_ASCII')
    return 'SQL_ASCII: who has bytes that are no UTF-8, in user_metadata for one, gets 500, as do lists with such a user; correct these rows'
  return `${encoding}: what has a character that this encoding lacks is answered with 500, as at the old service; auth import takes the users into a database in UTF8`
}

function describeReader({ object, isLed }: IdentityReader): string {
  return isLed
    ? `depends    ${object} on identities: it goes on reading the subject at the provider, whose column id becomes provider_id`
    : `depends    ${object} on identities: its column id becomes provider_id, and id another value; change it after auth adopt`
}

function printLosses(losses: readonly Loss[], print: Print): void {
  for (const { what, count } of losses) print(`lost       ${count} ${what}`)
}

/** The terminal of a command, which prints lines and asks the operator. */
export interface Conversation {
  readonly print: (line: string) => void
  /** Asks the operator a question and resolves to the answer, or to `undefined` if nobody can answer. */
  readonly ask: (question: string) => Promise<string | undefined>
}

interface Decision {
  /** Facts that the operator should know before the decision, one per line. The command prints them in any case. */
  readonly lines: readonly string[]
  readonly question: string
  /** Whether the flag `--yes` answers the question. */
  readonly isAnswered: boolean
}

/** Asks before a command does something irreversible. @returns whether to proceed @throws Error if nobody answers */
export async function confirm(
  { print, ask }: Conversation,
  { lines, question, isAnswered }: Decision,
): Promise<boolean> {
  for (const line of lines) print(line)
  if (isAnswered) return true
  const answer = await ask(`${question} [y/N] `)
  if (answer === undefined) throw new Error('nothing changed: nobody has answered. --yes answers the question')
  return /^y(es)?$/i.test(answer)
}

/** Asks a question on a terminal. @returns `undefined` if the input ends without an answer, as in a script */
export async function askOn(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  question: string,
): Promise<string | undefined> {
  const terminal = createInterface({ input, output })
  // The promise of `question` does not settle if the input ends.
  const ended = once(terminal, 'close').then(() => undefined)
  const answer = await Promise.race([terminal.question(question), ended]).finally(() => terminal.close())
  // Begin a new line, so that the next output does not follow the question on the same line.
  if (answer === undefined) output.write('\n')
  return answer
}
