// Installs the workspace with the pinned pnpm, unless the last install used the same lock file. Plain JavaScript for Node.js
// 20 and newer: the repository's own Node.js comes with this install, where the registry has it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findRuntimeProblem } from './runtime.mjs'

const PNPM = 'pnpm@12.21.0'
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const stamp = join(root, 'node_modules', '.installed')

const lock = createHash('sha256')
  .update(readFileSync(join(root, 'pnpm-lock.yaml')))
  .update(readFileSync(join(root, 'pnpm-workspace.yaml')))
  .update(readFileSync(join(root, '.pnpmfile.cjs')))
  .digest('hex')

const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const machine = { platform: process.platform, arch: process.arch, version: process.versions.node }
const [, wanted = ''] = /^nodeVersion: (.+)$/m.exec(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')) ?? []
const problem = findRuntimeProblem(machine, Object.keys(optionalDependencies), wanted)
if (problem) {
  process.stderr.write(`${problem}\n`)
  process.exit(1)
}

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lock) {
  // An interrupted install leaves modules that fit no lock file, so the mark of the last install goes first.
  rmSync(stamp, { force: true })
  const { status } = spawnSync('npx', ['--yes', PNPM, 'install', '--frozen-lockfile'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
  writeFileSync(stamp, lock)
}
