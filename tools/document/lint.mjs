import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectralCore from '@stoplight/spectral-core'
import spectralRulesets from '@stoplight/spectral-rulesets'

/** Prints what Redocly's recommended rules and Spectral's rules for OpenAPI say about docs/openapi.json. */

const file = process.argv[2] ?? join(import.meta.dirname, '../../docs/openapi.json')
const source = readFileSync(file, 'utf8')

const config = await createConfig({ extends: ['recommended'] })
const byRedocly = await lintFromString({ source, absoluteRef: file, config })

const spectral = new spectralCore.Spectral()
spectral.setRuleset({ extends: [[spectralRulesets.oas, 'recommended']] })
const bySpectral = await spectral.run(JSON.parse(source))

const lines = [
  ...byRedocly.map(
    ({ ruleId, severity, message, location }) => `redocly ${severity} ${ruleId} ${location[0]?.pointer}: ${message}`,
  ),
  ...bySpectral.map(
    ({ code, severity, message, path }) => `spectral ${severity} ${code} ${path.join('/')}: ${message}`,
  ),
]
for (const line of lines) process.stdout.write(`${line}\n`)
