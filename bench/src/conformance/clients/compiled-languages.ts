import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../servers/run-program.ts'
import { copyProgram, documentOf, type Language, runAll, SERVICES } from './language.ts'

/** Clients of oapi-codegen, whose answers have a member for each status. */
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
      // Without skipFormModel=false, the generator leaves out what only forms use, and yet imports it.
      const parts = ['apiDocs=false', 'modelDocs=false', 'apiTests=false', 'modelTests=false', 'skipFormModel=false']
      const jar = join(home, 'openapi-generator-cli-7.25.0.jar')
      const options = ['--additional-properties', names.join(','), '--global-property', parts.join(',')]
      const args = ['-jar', jar, 'generate', '-g', 'java', '-i', documentOf(service), '-o', join(home, service)]
      await runProgram({ program: 'java', args: [...args, ...options], env: QUIET_JAVA })
      await runProgram({ program: 'mvn', args: ['--batch-mode', '--quiet', 'compile'], cwd: join(home, service) })
    }
  },
}

/** The generator says hundreds of lines about what it does. */
const QUIET_JAVA = { ...process.env, JAVA_TOOL_OPTIONS: '-Dorg.slf4j.simpleLogger.defaultLogLevel=error' } as Record<
  string,
  string
>
