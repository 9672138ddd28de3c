import { rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import { createBenchFolder, ROOT, runCommand } from '../program.ts'
import { openDatabaseServer } from '../servers/database.ts'
import { answers, edges, faults } from './accepted-answers.ts'
import { requests } from './accepted-requests.ts'
import { compare, reportLines, unusedEntries } from './compare.ts'
import { ROUNDS } from './rounds.ts'
import { runSteps } from './run-steps.ts'
import {
  attachSides,
  createServerFolder,
  openSides,
  ourServer,
  printableSettings,
  type Sides,
  theirServer,
} from './servers.ts'
import type { Observation, Round } from './step.ts'

// Sends the same requests to supabase/auth and to auth, in rounds with different settings, and compares the results. With
// `--program`, it starts supabase/auth in each round with that round's settings and a new database. A running server can be
// compared in one round, with the settings that `--print-settings` prints.

const command = new Command('scripts/compare-servers')
  .description('Sends the same requests to supabase/auth and to auth, and compares what both do.')
  .option('--program <file>', 'the program of supabase/auth, which is started in each round')
  .option('--theirs <url>', 'a supabase/auth that runs with the settings of the one round of --rounds')
  .option('--rounds <names>', 'only these rounds, separated by commas')
  .option('--print-settings', 'prints the settings that the server of --theirs needs for the round')
  .option('--checkout <folder>', 'the sources of ours', ROOT)
  .option('--json <file>', 'writes what both did at each step')
  .option('--profile <name>', 'AUTH_PROFILE of ours', 'supabase')
  .action(run)

async function run(options: {
  readonly program?: string
  readonly theirs?: string
  readonly rounds?: string
  readonly printSettings?: true
  readonly profile: string
  readonly json?: string
  readonly checkout: string
}): Promise<void> {
  const { program, theirs: url, profile, json, checkout } = options
  const rounds = chosen(options.rounds)
  const [round] = rounds
  if ((program === undefined) === (url === undefined)) throw new Error('give either --program or --theirs')
  if (url !== undefined && (rounds.length > 1 || round === undefined)) {
    throw new Error('a server that runs already has the settings of one round: name it by --rounds')
  }
  if (options.printSettings && round) return say(printableSettings(round, url ?? 'http://localhost:9999'))
  const folder = createBenchFolder()
  try {
    await using started = new AsyncDisposableStack()
    const database = await openDatabaseServer({ url: process.env.BENCH_DATABASE_URL, folder: join(folder, 'postgres') })
    started.defer(database.close)
    const theirs =
      program === undefined
        ? attachSides(url ?? '')
        : await openSides(theirServer(resolve(program), createServerFolder(folder, 'theirs')), database)
    const ours = await openSides(ourServer(resolve(checkout), createServerFolder(folder, 'ours'), profile), database)
    const seen = await runRounds(rounds, theirs, ours)
    if (json !== undefined) writeFileSync(json, JSON.stringify(seen))
    const comparison = compare(seen.theirs, seen.ours, [...answers, ...edges, ...faults, ...requests])
    const isWhole = options.rounds === undefined
    say(reportLines(comparison, seen.theirs, { isWhole }))
    const unused = isWhole ? unusedEntries(comparison.uses) : []
    if (comparison.unlisted.length + unused.length > 0) process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Seen {
  readonly theirs: readonly Observation[]
  readonly ours: readonly Observation[]
}

async function runRounds(rounds: readonly Round[], theirs: Sides, ours: Sides): Promise<Seen> {
  const seen: { readonly theirs: Observation[]; readonly ours: Observation[] } = { theirs: [], ours: [] }
  for (const round of rounds) {
    await using started = new AsyncDisposableStack()
    const left = await theirs.start(round)
    started.defer(left.close)
    const right = await ours.start(round)
    started.defer(right.close)
    const [atTheirs, atOurs] = await Promise.all([runSteps(round, left.side), runSteps(round, right.side)])
    seen.theirs.push(...atTheirs)
    seen.ours.push(...atOurs)
  }
  return seen
}

/** @throws Error for an unknown round */
function chosen(names: string | undefined): readonly Round[] {
  if (names === undefined) return ROUNDS
  return names.split(',').map((name) => {
    const round = ROUNDS.find((known) => known.name === name)
    if (round === undefined) throw new Error(`unknown round ${name}: ${ROUNDS.map((known) => known.name).join(', ')}`)
    return round
  })
}

function say(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`)
}

await runCommand(command)
