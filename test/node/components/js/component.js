// A component of componentize-js: it asks a service, and says what it has failed at.
export async function getWeather(city) {
  const response = await fetch(`https://weather.test/${encodeURIComponent(city)}`, {
    headers: { accept: "application/json" },
  });
  if (!response.ok) throw `status ${response.status}`;
  return (await response.json()).text;
}

export function now() {
  return new Date().toISOString();
}
