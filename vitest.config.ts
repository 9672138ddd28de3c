import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{migrations,packages,services,scripts,bench}/**/*.test.ts'],
    // These need a PostgreSQL with Citus: `scripts/test-matrix --on citus` runs them, and the workflow
    // `citus` does so every night (CONTRIBUTING.md, "Tests that the check leaves out").
    exclude: [...configDefaults.exclude, ...(process.env.TEST_WORKER_URLS ? [] : ['**/*.citus.test.ts'])],
    globalSetup: ['packages/testing/src/postgres-setup.ts'],
    // These end what hangs. A busy machine takes several times as long as an idle one, so they are far above what a test needs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Jobs and outboxes are looked for once a second; a machine may be slow besides.
    expect: { poll: { timeout: 60_000 } },
    // Two more than the cores of the smallest machine: many tests wait for a retry, a lock or a process.
    maxWorkers: 4,
    // The files of a worker share its process and their modules, because loading them anew would take more than half of a run. No
    // module keeps state: `scripts/layout/module-state.ts` refuses it (decision 31).
    pool: 'forks',
    isolate: false,
    // Node.js runs the sources as they are. Nothing needs vite, whose transformed modules take a tenth more of a run.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: [
      // A worker keeps few objects for long. With a young generation of four times the usual size, collecting garbage takes a
      // twentieth less of a run.
      '--max-semi-space-size=64',
      // The examples of the framework import it as those do who install it.
      '--conditions=trestle-sources',
    ],
    reporters: process.env.CI ? ['default'] : ['dot'],
    coverage: {
      provider: 'custom',
      customProviderModule: 'packages/testing/src/coverage-module.ts',
      include: ['packages/*/src/**/*.ts', 'services/*/src/**/*.ts', 'migrations/**/*.ts', 'scripts/{*,*/*}.ts'],
      // What runs as a process of its own is tested from outside, where coverage does not look.
      exclude: ['**/*.test.ts', '**/main.ts', 'packages/stack/**', 'packages/testing/**'],
      reporter: ['text-summary'],
      // A point below what the tests cover, so that new code without tests is noticed.
      thresholds: { lines: 94, branches: 91 },
    },
  },
})
