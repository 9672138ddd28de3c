import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { startStack } from '../pages/start-stack.ts'
import { createBenchFolder, runCommand, say } from '../program.ts'
import { findMissing, go, java, type Language, python, tryLanguage, typescript } from './clients/languages.ts'

// Generates clients of the three services from docs/openapi with third-party tools, and compiles them: `scripts/try-clients
// [--keep] [language…]`. In Go, Python and TypeScript, a small program then does the main job of each service with its client,
// against the services of `npm start`. Exit status 1 if a tool, a compiler or a job fails, 2 if a toolchain is missing. The tools
// have pinned versions and are installed into a temporary folder.

const languages = [go, python, java, typescript]

const command = new Command('scripts/try-clients')
  .description('Generates clients from the API documents, compiles them, and runs the main jobs with them.')
  .argument('[languages...]', `${languages.map(({ name }) => name).join(', ')}; all by default`)
  .option('--keep', 'keep the clients and say where they are')
  .action(run)

const MISSING_STATUS = 2

async function run(names: readonly string[], { keep }: { readonly keep?: boolean }) {
  const known = languages.map(({ name }) => name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`unknown languages: ${unknown.join(', ')}; there are ${known.join(', ')}`)
  const wanted = languages.filter(({ name }) => names.length === 0 || names.includes(name))
  const missing = await findMissing(wanted.flatMap(({ toolchains }) => toolchains))
  if (missing.length > 0) {
    process.stderr.write(`missing: ${missing.join(', ')}\n`)
    process.exitCode = MISSING_STATUS
    return
  }
  const folder = createBenchFolder()
  try {
    await tryLanguages(wanted, folder)
  } finally {
    if (keep) say(`the clients are in ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
  }
}

async function tryLanguages(wanted: readonly Language[], folder: string): Promise<void> {
  await using started = new AsyncDisposableStack()
  // Java does no jobs, so it needs no services.
  const needsStack = wanted.some(({ doJobs }) => doJobs !== undefined)
  const status = needsStack ? await startStack(join(folder, 'data'), started) : {}
  const env = { ...process.env, ...status } as Readonly<Record<string, string>>
  for (const language of wanted) {
    const home = join(folder, language.name)
    mkdirSync(home)
    if (!(await tryLanguage(language, { home, env }, say))) process.exitCode = 1
  }
}

await runCommand(command)
