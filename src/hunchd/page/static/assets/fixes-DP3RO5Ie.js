function t(i){return i.tags.includes("fix")&&i.links.some(s=>s.type==="fixes")}function n(i,s){return s.filter(e=>t(e)&&e.links.some(f=>f.type==="fixes"&&f.ref===i.id))}export{n as f,t as i};
