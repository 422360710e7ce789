import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'

/** Prints what "Are the types wrong?" says about a packed package. */

const result = await checkPackage(createPackageFromTarballData(readFileSync(process.argv[2] ?? '')))
if (!result.types) throw new Error('the package has no types')
for (const problem of result.problems) process.stdout.write(`${JSON.stringify(problem)}\n`)
