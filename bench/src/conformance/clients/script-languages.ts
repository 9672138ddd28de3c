import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../servers/run-program.ts'
import { copyProgram, documentOf, type Language, runAll, SERVICES } from './language.ts'

/** The generator reads no other media types than it knows. With this, bodies of these are bytes. */
const PYTHON_CONFIG = `post_hooks: []
content_type_overrides:
  text/csv: application/octet-stream
  application/x-ndjson: application/octet-stream
`

/** Clients of openapi-python-client, which leaves out an operation that it does not understand. */
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
      // The generator goes on without an operation that it does not understand.
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

/** A Python program that imports every module of the packages that its arguments name, and names each that fails. */
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

/** Types of openapi-typescript for openapi-fetch, with which the jobs are done, and clients of @hey-api/openapi-ts. */
export const typescript: Language = {
  name: 'typescript',
  toolchains: [{ name: 'npm', program: 'npm', args: ['--version'] }],
  generate: async (home) => {
    writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'clients', private: true, type: 'module' }))
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(TYPESCRIPT_CONFIG))
    const install = ['install', '--no-audit', '--no-fund', '--silent', '--save-exact', ...TYPESCRIPT_PACKAGES]
    await runProgram({ program: 'npm', args: install, cwd: home })
    copyProgram('main.mts', home)
    // Otherwise a member with a default would be required, in requests too.
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
