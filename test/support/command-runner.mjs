// Runs commands of the compiled program one after the other in one process. A NUL ends the output of each. See
// command-line.ts.
import { on } from 'node:events'
import { pathToFileURL } from 'node:url'

const { runCommand } = await import(pathToFileURL(process.argv[2]).href)

// Each command's log listens for the end of the process.
process.setMaxListeners(0)
process.on('disconnect', () => process.exit())
for await (const [{ args, env, cwd }] of on(process, 'message')) {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(cwd)
  process.exitCode = 0
  await runCommand(args)
  const code = process.exitCode
  process.stdout.write('\0')
  process.stderr.write('\0', () => process.send(code))
}
