import { expect, it } from 'vitest'
import { describeDevice } from './device.ts'

const webKit = 'AppleWebKit/605.1.15 (KHTML, like Gecko)'

it.each([
  [`(Windows NT 10.0; Win64; x64) ${webKit} Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0`, 'Edge · Windows'],
  [`(Linux; Android 10; K) ${webKit} Chrome/130.0.0.0 Mobile Safari/537.36 EdgA/130.0.0.0`, 'Edge · Android'],
  [`(iPhone; CPU iPhone OS 17_7 like Mac OS X) ${webKit} EdgiOS/130.0.0.0 Safari/604.1`, 'Edge · iPhone'],
  [`(iPhone; CPU iPhone OS 17_7 like Mac OS X) ${webKit} Version/17.7 Safari/604.1`, 'Safari · iPhone'],
])('describes the browser %s as %s', (agent, device) => {
  const described = describeDevice({ headers: { 'user-agent': `Mozilla/5.0 ${agent}` }, ip: '203.0.113.7' })
  expect(described).toEqual({ device, network: '203.0.113.0/24' })
})
