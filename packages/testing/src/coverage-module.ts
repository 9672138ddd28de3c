import { appendFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import v8 from '@vitest/coverage-v8'
import { inject } from 'vitest'
import type { CoverageProviderModule, ResolvedCoverageOptions, TestSpecification } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** How many test files the run has, and the path of a file that gets a byte whenever a worker begins one of them. */
    readonly testFiles: { readonly total: number; readonly begun: string }
  }
}

/**
 * A worker does not know which of its files is the last one. So it collects after each of the last files of the run, of which
 * there are always more than workers.
 */
const LAST_FILES = 16

/**
 * V8 counts in every function that it compiles while coverage is on, also in dependencies, which become up to four times
 * slower. So the busiest dependencies are compiled before that, and completely: V8 would compile a function at its first call,
 * and drop its code when it is not used.
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

/** Counts a test file as begun. The workers are processes, which share no memory; a byte that is appended is never lost. */
function beginFile(): void {
  appendFileSync(inject('testFiles').begun, '.')
}

function isAmongLastFiles(): boolean {
  const { total, begun } = inject('testFiles')
  return total - statSync(begun).size < LAST_FILES
}

/**
 * Collects the coverage of V8 when a worker ends. vitest collects it after each file, and each time V8 walks the whole heap of
 * a worker that keeps its modules: 60 ms. V8 keeps counting, so nothing is lost.
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
      /** Without this the workers would use the module of vitest. */
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
