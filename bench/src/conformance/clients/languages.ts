import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../servers/run-program.ts'

export interface Language {
  readonly name: string
  readonly toolchains: readonly Toolchain[]
  /** Generates the clients in an empty folder and compiles them. @throws Error with the output of the failed tool */
  readonly generate: (home: string) => Promise<unknown>
  /** Does each service's main job with its client. @throws Error with the output of the program */
  readonly doJobs?: (home: string, env: Readonly<Record<string, string>>) => Promise<unknown>
}

/**
 * Generates the clients of a language, and does the main jobs with them, unless generation or compilation fails.
 * @param say takes a line for each step: its result, or why it failed
 * @returns whether each step succeeded
 */
export async function tryLanguage(
  { name, generate, doJobs }: Language,
  { home, env }: { readonly home: string; readonly env: Readonly<Record<string, string>> },
  say: (line: string) => void,
): Promise<boolean> {
  const tryStep = async (success: string, step: () => Promise<unknown>): Promise<boolean> => {
    try {
      await step()
      say(`${name}: ${success}`)
      return true
    } catch (error) {
      say(`not so: ${name}: ${success}\n${error instanceof Error ? error.message : String(error)}`)
      return false
    }
  }
  if (!(await tryStep('clients of three services are generated and compiled', () => generate(home)))) return false
  return doJobs === undefined || tryStep('the main jobs are done', () => doJobs(home, env))
}

export const SERVICES = ['auth', 'payments', 'inventory']

export function documentOf(service: string): string {
  return join(import.meta.dirname, '../../../../docs/openapi', `${service}.json`)
}

function copyProgram(name: string, home: string): void {
  copyFileSync(join(import.meta.dirname, name), join(home, name))
}

async function runAll(program: string, cwd: string, lists: readonly (readonly string[])[]): Promise<void> {
  for (const args of lists) await runProgram({ program, args, cwd })
}

/** A program of the machine that a language needs, and a command that shows its version. */
interface Toolchain {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
}

/** The names of missing or outdated toolchains. */
export async function findMissing(toolchains: readonly Toolchain[], path = process.env.PATH ?? ''): Promise<string[]> {
  const tried = toolchains.map(async ({ name, program, args }) => {
    const isThere = runProgram({ program, args, env: { ...process.env, PATH: path } as Record<string, string> })
    return await isThere.then(
      () => [],
      () => [name],
    )
  })
  return [...new Set((await Promise.all(tried)).flat())]
}

/** Clients of oapi-codegen. Their responses have a member for each status. */
export const go: Language = {
  name: 'go',
  toolchains: [{ name: 'Go', program: 'go', args: ['version'] }],
  generate: async (home) => {
    const tool = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'
    const env = { ...process.env, GOBIN: join(home, 'bin') } as Record<string, string>
    await runProgram({ program: 'go', args: ['install', tool], cwd: home, env })
    for (const service of SERVICES) {
      mkdirSync(join(home, service))
      const args = ['-package', service, '-generate', 'types,client', '-o', join(home, service, 'client.go')]
      await runProgram({ program: join(home, 'bin/oapi-codegen'), args: [...args, documentOf(service)] })
    }
    copyProgram('main.go', home)
    await runAll('go', home, [
      ['mod', 'init', 'clients'],
      ['get', 'github.com/oapi-codegen/runtime@v1.9.0'],
      ['mod', 'tidy'],
      ['vet', './...'],
      ['build', '-o', 'jobs', '.'],
    ])
  },
  doJobs: (home, env) => runProgram({ program: join(home, 'jobs'), args: [], env }),
}

/** Clients of openapi-generator with its default library. No program runs with them. */
export const java: Language = {
  name: 'java',
  toolchains: [
    { name: 'a JDK', program: 'javac', args: ['-version'] },
    { name: 'Maven', program: 'mvn', args: ['--version'] },
  ],
  generate: async (home) => {
    const plugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
    const artifact = 'org.openapitools:openapi-generator-cli:7.25.0'
    const copy = ['--batch-mode', '--quiet', plugin, `-Dartifact=${artifact}`, `-DoutputDirectory=${home}`]
    await runProgram({ program: 'mvn', args: copy, cwd: home })
    for (const service of SERVICES) {
      const names = [`invokerPackage=${service}`, `apiPackage=${service}.api`, `modelPackage=${service}.model`]
      // Without skipFormModel=false, the generator omits models that only forms use, but still imports them.
      const parts = ['apiDocs=false', 'modelDocs=false', 'apiTests=false', 'modelTests=false', 'skipFormModel=false']
      const jar = join(home, 'openapi-generator-cli-7.25.0.jar')
      const options = ['--additional-properties', names.join(','), '--global-property', parts.join(',')]
      const args = ['-jar', jar, 'generate', '-g', 'java', '-i', documentOf(service), '-o', join(home, service)]
      await runProgram({ program: 'java', args: [...args, ...options], env: QUIET_JAVA })
      await runProgram({ program: 'mvn', args: ['--batch-mode', '--quiet', 'compile'], cwd: join(home, service) })
    }
  },
}

/** Suppresses hundreds of log lines of the generator. */
const QUIET_JAVA = { ...process.env, JAVA_TOOL_OPTIONS: '-Dorg.slf4j.simpleLogger.defaultLogLevel=error' } as Record<
  string,
  string
>

/** The generator supports only known media types. With these overrides, other bodies are bytes. */
const PYTHON_CONFIG = `post_hooks: []
content_type_overrides:
  text/csv: application/octet-stream
  application/x-ndjson: application/octet-stream
`

/** Clients of openapi-python-client. It skips operations that it does not understand. */
export const python: Language = {
  name: 'python',
  toolchains: [
    {
      name: 'Python 3.11 with venv',
      program: 'python3',
      args: ['-c', 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'],
    },
  ],
  generate: async (home) => {
    await runProgram({ program: 'python3', args: ['-m', 'venv', join(home, 'venv')] })
    const pip = ['install', '--quiet', '--disable-pip-version-check', 'openapi-python-client==0.29.1']
    await runProgram({ program: join(home, 'venv/bin/pip'), args: pip })
    writeFileSync(join(home, 'config.yaml'), PYTHON_CONFIG)
    const generator = join(home, 'venv/bin/openapi-python-client')
    for (const service of SERVICES) {
      const args = ['generate', '--config', 'config.yaml', '--meta', 'none', '--path', documentOf(service)]
      const said = await runProgram({ program: generator, args: [...args, '--output-path', service], cwd: home })
      // The generator only warns about a skipped operation.
      if (/WARNING|ERROR/.test(said)) throw new Error(`${service}: ${said}`)
    }
    copyProgram('main.py', home)
    await runAll(join(home, 'venv/bin/python'), home, [
      ['-m', 'compileall', '-q', ...SERVICES, 'main.py'],
      ['-c', IMPORT_ALL, ...SERVICES],
    ])
  },
  doJobs: (home, env) => runProgram({ program: join(home, 'venv/bin/python'), args: ['main.py'], cwd: home, env }),
}

/** A Python program that imports every module of the given packages, and names each module that fails. */
const IMPORT_ALL = `import importlib, pkgutil, sys
failed = []
for name in sys.argv[1:]:
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            failed.append(f"{module.name}: {error!r}")
sys.exit("\\n".join(failed) or 0)`

const TYPESCRIPT_PACKAGES = [
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  '@hey-api/openapi-ts@0.99.0',
  'typescript@5.9.3',
  '@types/node@24.13.3',
]

const TYPESCRIPT_CONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'nodenext',
    allowImportingTsExtensions: true,
    types: ['node'],
  },
  include: ['.'],
}

/** Types of openapi-typescript for openapi-fetch, which does the jobs, and clients of @hey-api/openapi-ts. */
export const typescript: Language = {
  name: 'typescript',
  toolchains: [{ name: 'npm', program: 'npm', args: ['--version'] }],
  generate: async (home) => {
    writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'clients', private: true, type: 'module' }))
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(TYPESCRIPT_CONFIG))
    const install = ['install', '--no-audit', '--no-fund', '--silent', '--save-exact', ...TYPESCRIPT_PACKAGES]
    await runProgram({ program: 'npm', args: install, cwd: home })
    copyProgram('main.mts', home)
    // By default, a member with a default value would be required, even in requests.
    for (const service of SERVICES) {
      await runAll('npx', home, [
        ['openapi-typescript', documentOf(service), '--output', `${service}.d.ts`, '--default-non-nullable=false'],
        ['openapi-ts', '--input', documentOf(service), '--output', service, '--client', '@hey-api/client-fetch'],
      ])
    }
    await runProgram({ program: 'npx', args: ['tsc', '--project', '.'], cwd: home })
  },
  doJobs: (home, env) => runProgram({ program: process.execPath, args: [join(home, 'main.mts')], env }),
}
