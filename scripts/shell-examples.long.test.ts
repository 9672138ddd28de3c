import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { parseArgs, parseEnv } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { planStack } from '../packages/stack/src/settings/plan.ts'
import { canTestWith, findProgram } from '../packages/testing/src/find-program.ts'
import { createFolder, removeFoldersAtEnd } from '../packages/testing/src/temporary-folder.ts'
import { loadAuthConfig } from '../services/auth/src/config.ts'
import { loadConsoleConfig } from '../services/console/src/config.ts'
import { loadInventoryConfig } from '../services/inventory/src/config.ts'
import { loadPaymentsConfig } from '../services/payments/src/config.ts'
import { examplesIn, RUN_WITH_STAND_INS } from './test/document-examples.ts'
import { commandsOf, type ListedCommand } from './test/service-commands.ts'

removeFoldersAtEnd()

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const services = ['auth', 'payments', 'inventory', 'console']
const loaders = { auth: loadAuthConfig, payments: loadPaymentsConfig, inventory: loadInventoryConfig }

/** Programs that change a machine or need a machine of their own. */
const STAND_INS =
  'apt-get auth citus-drill console createdb curl docker git install inventory ha-drill node npm openssl payments pnpm pg_basebackup pg_ctl pg_dump pg_dumpall pg_restore psql replicas runuser setpriv systemctl systemd-sysusers vacuumdb'

/** Replaces each program. It records the name and arguments, and creates the output that the next command needs. */
const STAND_IN = `#!/usr/bin/env bash
{ printf '%s\\037' "\${0##*/}" "$@"; printf '\\036'; } >>"$CALLS"
case "\${0##*/} \${*}" in
  'git clone '*) ln -s "$CHECKOUT" "\${@: -1}" ;;
  'openssl rand -hex '*) head -c "$3" /dev/urandom | od -An -v -tx1 | tr -d ' \\n' ;;
  'openssl rand -base64 '*) head -c "$3" /dev/urandom | base64 ;;
  *' migrate status') echo 'applied 2026-11-20T13:22:59.123Z 0001-create-users' ;;
  'payments doctor') echo 'ok    standby' ;;
  'curl '*/metrics) echo 'db_standby_lag_seconds 0' ;;
  'install '*)
    words=()
    while (($#)); do case $1 in -o | -g) shift 2 ;; *) words+=("$1"); shift ;; esac; done
    exec "$INSTALL" "\${words[@]}" ;;
esac
`

const folder = createFolder()
/** Folders of a machine. The scripts write to a folder of this test instead. */
const ON_MACHINE = /(?<![\w.:/$}-])\/(?=(?:etc|opt|var)\/)/g
/** The calls of each script: the program and its arguments. */
const called = new Map<string, readonly (readonly string[])[]>()

/** Runs a script with the stand-ins first in the `PATH`. @returns the recorded calls */
function runScript(script: string): readonly (readonly string[])[] {
  const calls = join(folder, 'calls')
  writeFileSync(calls, '')
  const PATH = `${join(folder, 'bin')}${delimiter}${process.env.PATH}`
  const servers = {
    NEW_SERVER: 'postgres://new',
    PRACTICE_SERVER: 'postgres://practice',
    DATABASE_URL: 'postgres://old',
  }
  // An earlier command of the document sets this variable.
  const MERCHANT = '0'.repeat(24)
  const text = script
    .replaceAll(/<([a-z][a-z ]*)>/g, (_all, words: string) => words.replaceAll(' ', '-'))
    .replaceAll(ON_MACHINE, `${folder}/`)
  const { status, stderr } = spawnSync('bash', ['--norc', '-euc', text], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: join(folder, 'work'),
    encoding: 'utf8',
    env: {
      PATH,
      CALLS: calls,
      CHECKOUT: root,
      INSTALL: findProgram('install'),
      OWNER: 'trestle',
      PGDATA: join(folder, 'pg'),
      MERCHANT,
      ...servers,
    },
  })
  expect([script, status, stderr]).toEqual([script, 0, ''])
  return readFileSync(calls, 'utf8')
    .split('\u001e')
    .slice(0, -1)
    .map((call) => call.split('\u001f').slice(0, -1))
}

const machineFiles = globSync('deploy/machine/*', { cwd: root })
const unitFiles = machineFiles.filter((path) => /\.(?:service|timer)$/.test(path))
/** The values of a key in all unit files. */
const unitValues = (key: string) =>
  unitFiles.flatMap((path) =>
    [...read(path).matchAll(new RegExp(`^${key}=(.+)$`, 'gm'))].map(([, value = '']) => value),
  )

beforeAll(() => {
  for (const path of [
    'bin',
    'work/scripts',
    'opt/trestle',
    'etc/sysusers.d',
    'etc/systemd/system',
    'etc/caddy',
    'etc/logrotate.d',
  ]) {
    mkdirSync(join(folder, path), { recursive: true })
  }
  for (const name of unitValues('StateDirectory').filter((value) => !value.includes('%'))) {
    mkdirSync(join(folder, 'var/lib', name), { recursive: true })
  }
  writeFileSync(join(folder, 'bin', 'stand-in'), STAND_IN, { mode: 0o755 })
  for (const name of STAND_INS.split(' ')) symlinkSync('stand-in', join(folder, 'bin', name))
  for (const name of ['citus-drill', 'replicas', 'ha-drill'])
    symlinkSync('../../bin/stand-in', join(folder, 'work/scripts', name))
  symlinkSync(join(root, 'deploy'), join(folder, 'work', 'deploy'))
  // The runbook clones the first release. The next release already exists when it switches.
  symlinkSync(root, join(folder, 'opt/trestle/new-release'))
  // A runbook defines its programs once. The reader runs all later scripts in the same shell.
  const texts = (document: string) =>
    examplesIn(root, document)
      .filter(({ language }) => language === 'sh')
      .map(({ text }) => text)
  for (const [document, numbers] of Object.entries(RUN_WITH_STAND_INS)) {
    for (const number of numbers) called.set(`${document} ${number}`, runScript(texts(document)[number - 1] ?? ''))
  }
  const [checkout = '', containers = ''] = texts('docs/runbooks/README.md')
  called.set('in a checkout', runScript(`${checkout}\nauth migrate drift`))
  called.set('in containers', runScript(`${containers}\nauth migrate drift\npg_dump --file=a.dump "$DATABASE_URL"`))
  const [, withCompose = '', inCheckout = ''] = texts('docs/runbooks/moving-in.md')
  called.set('moving in with compose', runScript(`${withCompose}\nauth adopt --check`))
  called.set('moving in from a checkout', runScript(`${inCheckout}\nauth adopt --check`))
  const [, , , , commands = ''] = texts('docs/runbooks/one-machine.md')
  called.set('on one machine', runScript(`${commands}\npayments doctor\nauth keys reseal`).slice(-2))
})

/** Returns the unknown words of a service's command line: a command or an option. */
async function problemsOfService(service: string, given: readonly string[]): Promise<readonly string[]> {
  const words = given[0] === '-c' ? given.slice(2) : given
  // `serve` is not in the list of `otherCommands`, and has no options.
  if (words[0] === 'serve') return words.slice(1)
  let level = await commandsOf(service)
  let found: ListedCommand | undefined
  for (const word of words) {
    if (word.startsWith('-') || (found && level.length === 0)) break
    found = level.find((command) => command.name() === word)
    if (found === undefined) return [`${service} has no command ${words.join(' ')}`]
    level = found.commands
  }
  const options = found?.options.map(({ long }) => long) ?? []
  return words.filter((word) => word.startsWith('--') && !options.includes(word))
}

const Compose = z.object({
  services: z.record(z.string(), z.object({ image: z.string(), profiles: z.array(z.string()).default([]) })),
})
const compose = Compose.parse(parse(read('docker-compose.yml'), { merge: true })).services

/** The options of `docker compose` commands, and whether a value follows. */
const COMPOSE_OPTIONS: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  up: { '--build': false, '--detach': false, '--no-deps': false, '--wait': false },
  build: {},
  restart: {},
  stop: {},
  kill: {},
  exec: { '-T': false },
  run: {
    ...{ '--rm': false, '-T': false, '--no-deps': false },
    ...{ '--publish': true, '--volume': true, '--workdir': true, '-e': true },
  },
}

/** The database in Supabase's Compose file, from which users are imported. */
const SUPABASE_DATABASE = 'db'

/** Returns arguments of `docker compose …` that Compose would refuse, and unknown images of `docker tag`. */
function problemsOfDocker([group, ...words]: readonly string[]): readonly string[] {
  if (group === 'tag') {
    const images = Object.values(compose).flatMap(({ image }) => [image, `${image}:old`])
    return words.filter((image) => !images.includes(image))
  }
  // Skip files that the script or its reader has created.
  while (words[0] === '-f') words = words.slice(2)
  const profile = words[0] === '--profile' ? words[1] : undefined
  const isProfile = profile === undefined || Object.values(compose).some(({ profiles }) => profiles.includes(profile))
  const [command = '', ...rest] = profile === undefined ? words : words.slice(2)
  const options = COMPOSE_OPTIONS[command]
  if (group !== 'compose' || options === undefined || !isProfile) return [[group, ...words].join(' ')]
  let at = 0
  while (rest[at]?.startsWith('-')) {
    const takesValue = options[String(rest[at])]
    if (takesValue === undefined) return [`${command} ${rest[at]}`]
    at += takesValue ? 2 : 1
  }
  const service = rest[at]
  return service === undefined || service === SUPABASE_DATABASE || service in compose ? [] : [`no service ${service}`]
}

/**
 * Returns unknown packages of an npm installation of the framework, and members of `package.json` that the framework does not
 * require.
 */
function problemsOfInstallation([command, ...words]: readonly string[]): readonly string[] {
  if (command === 'pkg') return words.filter((word) => word !== 'set' && word !== 'type=module')
  const Manifest = z.object({ name: z.string(), peerDependencies: z.record(z.string(), z.string()) })
  const { name, peerDependencies } = Manifest.parse(JSON.parse(read('packages/endpoints/package.json')))
  return words.filter((word) => word !== name && peerDependencies[word] === undefined)
}

let benchHelp: string | undefined

/** Returns unknown services and options of `pnpm bench --help`, and options without their value. */
function problemsOfBench(args: readonly string[]): readonly string[] {
  benchHelp ??= execFileSync(process.execPath, ['bench/src/speed/main.ts', '--help'], { cwd: root, encoding: 'utf8' })
  const help = benchHelp
  const names = [...help.matchAll(/^ +--(\w+) </gm)].map(([, name = '']) => name)
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true, strict: false })
  return [
    ...Object.keys(values).filter((name) => !names.includes(name) || typeof values[name] !== 'string'),
    ...positionals.filter((service) => !new RegExp(`services +.*\\b${service}\\b`).test(help)),
  ]
}

/** The registry has no Node.js for some platforms, such as macOS, but the runbook is for Debian. */
const isMissing = (path: string) => !existsSync(path) && !(path.endsWith('.bin/node') && process.platform !== 'linux')

/** The users that `systemd-sysusers` creates on a machine. */
const machineUsers = [...read('deploy/machine/trestle.sysusers.conf').matchAll(/^u (\S+)/gm)].map(([, user]) => user)

/** Checks for programs whose arguments name parts of this repository. */
const RULES: Readonly<Record<string, (words: readonly string[]) => readonly string[] | Promise<readonly string[]>>> = {
  auth: (words) => problemsOfService('auth', words),
  payments: (words) => problemsOfService('payments', words),
  inventory: (words) => problemsOfService('inventory', words),
  console: (words) => problemsOfService('console', words),
  docker: problemsOfDocker,
  curl: (words) => {
    const { port, pathname } = new URL(String(words.at(-1)))
    const isKnown = /^(?:(?:[89]08[0-2]|8084)\/(?:health|ready)|910[0-3]\/metrics)$/.test(port + pathname)
    return isKnown ? [] : [String(words.at(-1))]
  },
  npm: (words) => {
    if (words[0] === 'install' || words[0] === 'pkg') return problemsOfInstallation(words)
    const { scripts: own } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read('package.json')))
    const [first = '', ...rest] = words.filter((word) => word !== 'run' && word !== '--silent' && word !== '-s')
    const [separator, ...args] = rest
    if (own[first] === undefined || (separator ?? '--') !== '--') return [words.join(' ')]
    if (services.includes(first)) return problemsOfService(first, args)
    return first === 'start' &&
      planStack({ root, program: '', env: {}, names: args, isWatched: false }).services.length > 0
      ? []
      : args
  },
  pnpm: ([script = '', ...args]) => {
    if (services.includes(script)) return problemsOfService(script, args)
    return script === 'bench' ? problemsOfBench(args) : [script]
  },
  node: ([file = '']) => (existsSync(join(root, file)) ? [] : [file]),
  setpriv: (words) => {
    const user = words.flatMap((word) => /^--re[ug]id=(.+)$/.exec(word)?.[1] ?? [])
    const [program = '', file = '', ...args] = words.slice(words.indexOf('--') + 1)
    const service = /^services\/(\w+)\/src\/main\.ts$/.exec(file)?.[1] ?? ''
    const missing = [program, file].filter((path) => isMissing(join(root, path)))
    const strangers = user.filter((name) => !machineUsers.includes(name))
    return missing.length + strangers.length > 0 ? [...missing, ...strangers] : problemsOfService(service, args)
  },
  systemctl: (words) => {
    const units = words.filter((word) => word.startsWith('trestle'))
    const file = (unit: string) =>
      unit
        .replace(/@\w+$/, '@')
        .replace(/(?<!\.timer)$/, '.service')
        .replace('.timer.service', '.timer')
    return units.filter((unit) => !existsSync(join(folder, 'etc/systemd/system', file(unit))))
  },
  replicas: (words) => unknownOptions('bench/src/drills/replicas.ts', words),
  'ha-drill': (words) => unknownOptions('bench/src/drills/ha.ts', words),
  'citus-drill': (words) =>
    words.filter((word) => word.startsWith('--') && !read('bench/src/drills/citus.ts').includes(`option('${word} <`)),
}

/** Options that the program's call of `parseArgs` does not contain. */
function unknownOptions(path: string, words: readonly string[]): readonly string[] {
  const [options = ''] = /parseArgs\(.*?\}\)/s.exec(read(path)) ?? []
  return words.filter((word) => word.startsWith('--') && !options.includes(`${word.slice(2)}: {`))
}

const problemsOf = async (calls: readonly (readonly string[])[]) =>
  (await Promise.all(calls.map(([program = '', ...words]) => RULES[program]?.(words) ?? []))).flat()

it.each(
  Object.entries(RUN_WITH_STAND_INS).flatMap(([document, numbers]) => numbers.map((number) => `${document} ${number}`)),
)('%s runs to its end, and calls what exists', async (script) => {
  expect(await problemsOf(called.get(script) ?? expect.fail('did not run'))).toEqual([])
})

it.each([
  ['auth', 'migrate', 'sideways'],
  ['payments', 'ledger', 'verify', '--tail'],
  ['docker', 'compose', 'up', '--quickly'],
  ['docker', 'compose', 'restart', 'billing'],
  ['docker', 'tag', 'trestle-billing', 'trestle-auth:old'],
  ['npm', 'run', 'develop'],
  ['npm', 'install', '@trestle/framework'],
  ['pnpm', 'bench', 'billing'],
  ['pnpm', 'bench', '--quickly'],
  ['pnpm', 'bench', '--seconds'],
  ['systemctl', 'enable', 'trestle-restore.timer'],
  ['curl', 'http://localhost:8085/ready'],
  ['replicas', '--stops', '3'],
  ['citus-drill', '--stops', '3'],
])('a call of what does not exist is a problem: %s %s %s', async (...call) => {
  expect(await problemsOf([call])).toHaveLength(1)
})

describe('docs/runbooks/README.md', () => {
  it('calls the programs of a checkout by npm', async () => {
    const calls = called.get('in a checkout') ?? []
    expect(calls).toEqual([['npm', 'run', '--silent', 'auth', '--', 'migrate', 'drift']])
    expect(await problemsOf(calls)).toEqual([])
  })

  it('calls the programs of containers by Compose, with the files of the folder', async () => {
    const work = join(folder, 'work')
    const run = ['docker', 'compose', 'run', '--rm', '-T', '--volume', `${work}:${work}`]
    const calls = called.get('in containers') ?? []
    expect(calls).toEqual([
      [...run, 'auth', 'auth', 'migrate', 'drift'],
      [
        ...run,
        '--workdir',
        work,
        '--no-deps',
        'postgres',
        'pg_dump',
        '--file=a.dump',
        expect.stringContaining('@postgres:'),
      ],
    ])
    expect(await problemsOf(calls)).toEqual([])
  })

  it('overrides a setting of a service that Compose runs', () => {
    const [override] = examplesIn(root, 'docs/runbooks/README.md').filter(({ language }) => language === 'yaml')
    const Override = z.object({
      services: z.record(z.string(), z.object({ environment: z.record(z.string(), z.string()) })),
    })
    const overridden = Object.entries(Override.parse(parse(override?.text ?? '')).services)
    expect(overridden.map(([name]) => name)).toEqual(['inventory'])
    for (const [name, { environment }] of overridden) {
      expect(name in compose).toBe(true)
      for (const setting of Object.keys(environment))
        expect(read(`docs/settings/${name}.md`)).toContain(`\`${setting}\``)
    }
  })

  it('writes settings to practise with, which every service accepts', () => {
    const env = parseEnv(readFileSync(join(folder, 'work/.env'), 'utf8'))
    for (const load of Object.values(loaders)) expect(() => load(env)).not.toThrow()
  })
})

describe('docs/runbooks/moving-in.md', () => {
  it('calls auth by Compose with the new image, while the file of Supabase has the old one', async () => {
    const work = join(folder, 'work')
    const calls = called.get('moving in with compose') ?? []
    expect(calls).toEqual([
      [
        ...['docker', 'compose', '-f', 'docker-compose.yml', '-f', 'moving.yml', 'run', '--rm', '-T', '--no-deps'],
        ...['-e', 'PGPASSWORD', '--volume', `${work}:${work}`, 'auth', 'auth', 'adopt', '--check'],
      ],
    ])
    expect(await problemsOf(calls)).toEqual([])
    expect(parse(readFileSync(join(work, 'moving.yml'), 'utf8'))).toEqual({
      services: { auth: { image: compose.auth?.image } },
    })
  })

  it('kills the old server before the switch, because a stopped server answers requests under way with 500', () => {
    const moves = [...called].flatMap(([place, calls]) =>
      place.startsWith('docs/runbooks/moving-in.md') && calls.some((words) => words.join(' ').endsWith('auth adopt'))
        ? [calls.map((words) => words.join(' '))]
        : [],
    )
    expect(moves).toEqual([['docker compose kill auth', expect.stringMatching(/auth adopt$/)]])
  })

  it('calls auth by npm in a checkout, with the settings of a file', async () => {
    const calls = called.get('moving in from a checkout') ?? []
    const settings = join(folder, 'work/moving.env')
    expect(calls).toEqual([
      ['node', 'scripts/install.mjs'],
      ['npm', 'run', '--silent', 'auth', '--', '-c', settings, 'adopt', '--check'],
    ])
    expect(await problemsOf(calls)).toEqual([])
  })
})

describe('docs/runbooks/one-machine.md', () => {
  it.each(Object.entries(loaders))('writes settings that %s accepts in production', (name, load) => {
    const [own, ofOwner] = [`${name}.env`, `${name}.migrate.env`].map((file) =>
      parseEnv(readFileSync(join(folder, 'etc/trestle', file), 'utf8')),
    )
    expect(() => load({ NODE_ENV: 'production', ...own })).not.toThrow()
    expect(() => load({ NODE_ENV: 'production', ...own, ...ofOwner })).not.toThrow()
    expect(Object.keys(ofOwner ?? {})).toEqual([`${name.toUpperCase()}_MIGRATION_DATABASE_URL`])
  })

  it('writes keys of operators for the console, and their digests for the services', () => {
    const file = (name: string) => parseEnv(readFileSync(join(folder, 'etc/trestle', `${name}.env`), 'utf8'))
    const { services: accesses } = loadConsoleConfig({ NODE_ENV: 'production', ...file('console') })
    const keys = [...accesses.auth.keys]
    const digests = keys.map(
      ([role, key]) => `console-${role}:${role}:${createHash('sha256').update(key).digest('hex')}`,
    )
    expect(keys.map(([role]) => role)).toEqual(['viewer', 'support', 'admin'])
    expect([accesses.payments?.keys, accesses.inventory?.keys]).toEqual([accesses.auth.keys, accesses.auth.keys])
    for (const name of Object.keys(loaders))
      expect(file(name)[`${name.toUpperCase()}_OPERATOR_KEYS`]).toBe(digests.join(','))
  })

  it('runs doctor as the service and other commands as the operator', () => {
    const users = called
      .get('on one machine')
      ?.map((words) => [words.find((word) => word.startsWith('--reuid')), ...words.slice(-2)])
    expect(users).toEqual([
      ['--reuid=trestle-payments', 'services/payments/src/main.ts', 'doctor'],
      ['--reuid=trestle-operator', 'keys', 'reseal'],
    ])
  })

  it('installs each file of deploy/machine where its program reads it', () => {
    const installed = globSync('etc/**/*', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
    const contents = installed.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    const missing = machineFiles.filter((path) => !contents.includes(read(path)))
    // The unit of the backup runs this file from the checkout.
    expect(missing).toEqual(['deploy/machine/dump-database'])
  })

  it('has units whose users, settings and programs it makes', () => {
    const instances = (value: string) =>
      value.includes('%i') ? services.map((name) => value.replaceAll('%i', name)) : [value]
    for (const user of unitValues('User').flatMap(instances)) expect([...machineUsers, 'postgres']).toContain(user)
    for (const file of unitValues('EnvironmentFile').flatMap(instances))
      expect(existsSync(join(folder, file))).toBe(true)
    const paths = unitValues('ExecStart').flatMap((value) => value.match(/\/opt\/trestle\/current\/[^\s']+/g) ?? [])
    expect(paths).not.toEqual([])
    expect(paths.filter((path) => isMissing(join(folder, path)))).toEqual([])
  })

  it.runIf(canTestWith('systemd-analyze'))('has units that systemd accepts', () => {
    const units = join(folder, 'units')
    mkdirSync(units)
    for (const path of unitFiles) {
      writeFileSync(
        join(units, basename(path).replace('@.', '@auth.')),
        read(path).replaceAll('/opt/', `${folder}/opt/`),
      )
    }
    const files = globSync('*', { cwd: units }).map((name) => join(units, name))
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, expect.not.stringContaining(units)])
  })
})
