import { appendFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import v8 from '@vitest/coverage-v8'
import { inject } from 'vitest'
import type { CoverageProviderModule, ResolvedCoverageOptions, TestSpecification } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The number of test files, and the path of a file to which a worker appends a byte for each begun test file. */
    readonly testFiles: { readonly total: number; readonly begun: string }
  }
}

/**
 * The number of last test files after which coverage is collected. A worker does not know which test file is its last. This
 * number always exceeds the number of workers.
 */
const LAST_FILES = 16

/**
 * Compiles the busiest dependencies before coverage is on. V8 counts in every function that it compiles while coverage is on,
 * which makes dependencies up to four times slower. The flags make V8 compile all functions immediately and keep their code.
 * Otherwise V8 would compile a function at its first call and drop unused code.
 */
async function compileDependencies(): Promise<void> {
  setFlagsFromString('--no-lazy')
  setFlagsFromString('--no-flush-bytecode')
  await Promise.all([
    import('fast-check'),
    import('fastify'),
    import('kysely'),
    import('nodemailer'),
    import('pg'),
    import('smtp-server'),
    import('uqr'),
    import('zod'),
  ])
}

let compiled: Promise<void> | undefined

/** Counts a begun test file. The workers share no memory, and appending to a file loses no count. */
function beginFile(): void {
  appendFileSync(inject('testFiles').begun, '.')
}

function isAmongLastFiles(): boolean {
  const { total, begun } = inject('testFiles')
  return total - statSync(begun).size < LAST_FILES
}

/**
 * Collects the coverage of V8 when a worker ends. vitest collects it after each file, and each time V8 scans the whole heap of a
 * worker that keeps its modules, which takes 60 ms. V8 keeps counting, so no coverage is lost.
 */
const coverageModule: CoverageProviderModule = {
  startCoverage: async (options) => {
    compiled ??= compileDependencies()
    await compiled
    beginFile()
    return v8.startCoverage?.(options)
  },
  takeCoverage: (options) => (isAmongLastFiles() ? v8.takeCoverage?.(options) : undefined),
  stopCoverage: (options) => v8.stopCoverage?.(options),
  getProvider: async () => {
    const { V8CoverageProvider } = await import('@vitest/coverage-v8/dist/provider.js')
    class Provider extends V8CoverageProvider {
      /** Without this override the workers would use the coverage module of vitest. */
      override resolveOptions(): ResolvedCoverageOptions {
        return { ...super.resolveOptions(), provider: 'custom' }
      }

      override async onTestRunStart(files: readonly TestSpecification[]): Promise<void> {
        await super.onTestRunStart(files)
        const begun = join(this.coverageFilesDirectory, 'begun')
        this.ctx.getRootProject().provide('testFiles', { total: files.length, begun })
      }
    }
    return new Provider()
  },
}

export default coverageModule
