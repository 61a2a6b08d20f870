"""Common words, in several languages, that name what a table says about a row.

A name of such words raises a question if it stands alone among other names. The list was written by
hand from the vocabulary of forms, surveys, sensors, texts, trade, medicine, sport and traffic, and
leaves out what is often a candidate there, such as means of transport.
"""

COMMON_WORDS = """
    repeater newcomer beginner latecomer epsilon lambda sigma eta tau idf tf vol beta2
    pretraining vix rsi gdp cpi iq eq gpa bac bp ldl hdl
    abono absence absences absent absorbance abstract abundance academic accent accented access accessory
    accident accuracy achievement acid acidity acreage activity acute adherence adult adverse affected affitto
    affluent aftermath aggressive agreeable alcohol alert allergic allergy alone alquiler alto amateur ambient
    ambiguity amplitude anaemia ancestry anfahrt anger animal animals annotated annual anonymous answer answered
    anteil anwesenheit anxiety apartment appeal appearance appetite applicant appointment approval approved
    aptitude archived arid arrears arrest article artificial ascenseur ascensor ascensore asistencia asked
    assenze assigned assists asthma atraso attendance attention attitude attribute audience auslastung austerity
    author authors avail averia aversion awake award aware awkward background bad baggage bagnato baixo balanced
    balcony bald ballot bandwidth barato barrier barulhento barulho basement basket basse basso bathroom
    bathrooms baujahr beam beard bearing beca bed bedroom bedrooms beds behaviour behindert bekannt benefit
    benign beschadigt beschwerde bestand bestandskunde bestelling bezirk bias bid bill biopsy birthday bite
    blank blind block blocked blond blur blurred blurry boarding boden body bom bon bonus booking borderline
    bored bot bounce bourse brand breach breadth break breakdown breakfast breed breit bright broken bruit
    bruyant budgeted buena bueno bug buggy bugs building bulk bump buono burden busy buyer cabin caldo caliente
    calm cancelled cancer candidate canopy capital carbohydrate care career careful cargo caro carried casado
    cases casse casualty catalogue catch cattivo cause cautious cavity celebrity celibataire celibe ceremony
    chaos chapter charged charity chart chaud cheap checked cheio cher chest chiaro child childhood chill
    choice chronic chuva cidade circumference citation citations citizen citta ciudad claim claims
    clair claro class classroom clause clauses clean clear cleared cliente climate clinical closed closing cloud
    clouds cloudy clutter cold colheita collateral colleague collection collision color colour comfort comic
    comma commande commit commits common community commute commuter company competence competition competitor
    competitors compiti complaint complaints compliance compliant component composition compound computer
    concentration concern condition conditions conduct conductivity conflict congestion connected connection
    consent conservative constraint constraints construction consumption contact contacts content contest
    contract contracts contribution controversial convenience conversion cook cooked cooking cool copies copy
    cores correction correlated corrupt corrupted corta corto cosecha cough course court cover coverage covered
    crash crashes crew crime criminal crisis crop crossing crowded crowding crowdsourced cultivar culture curto
    curved customer customers customs cut cutoff cuts cycle cycles cyclomatic daily damage damaged dangerous
    dark darkness data dead dealer death deaths deberes debito decade decision declared decline deduplicated
    deep default defect defective defects defekt defence deficit degree degrees delayed delivered delivery
    demand democratic demographic dependent dependents depense deposit deposits depressed depression deprived
    desired destination detached detail detailed detected deterioration dette deuda developed devoirs devolucion
    devolvido devuelto diabetes diabetic diagnosed diameter diastolic dichte died dietary digits dilution
    dimension dimensions direction dirt disability disabled discarded discharge discounted disease dish dispute
    disputed dissolved distant district disturbance diverse divorced document documents donker donna doors
    doppelt dorp dosage dose doubt draft drainage drink driver drivers droog drought dry dryness due dull dunger
    dunkel duplicate dust duty dwelling earliness early earthquake economic edges edited editor educated
    education effective efficient effort eilig elderly elite embarked emergency emoji emotion emotional employed
    employee employees employer employment empty encoding ended enfants engaged english engrais enrolled
    entfernung entities entity entrance environment episode episodes equipment ernte eroded erosion errors
    ertrag escalation escuro estate estimated etage ethical ethnic evening event events evidence exact exam
    example exams excess exchange excluded exhausted expenditure expensive experience experienced experiment
    expired exponent exported exposed exposure extension exterior external extra extracted extreme eyes face
    faces facil facile faint fair faithful falsch false faltas fame familiar familiarity family fare farm fat
    fatal fatigue fault faulty favourite fear feedback feestdag fehlend fehlerhaft fehltage fehlzeit feiertag
    fellow femme feriado ferie fertile festivo feucht fever fiber fibre fiction figli figurative figure figures
    file files filhos filled filtered final finance financial fine fines fire firm fiscal fit fitness flache
    flaky flight flood flooded floor floors flu fluid fog foggy followers food foot footfall foreign forested
    forged formal formality formatted forms fortune foul fouls founded fragile fragment frail frau fraud
    fraudulent freddo freight fresh freshness friction friend friends frio froid frost frozen full fumador
    fumadora fumante fumatore fumeur fumeuse funded funding fungicide furnished gapped garage garbled gasto
    gefalle gehalt gehuwd gelost gender genuine geographic geometry gesehen gestation giovane girl glare goal
    goals goed goedkoop good goods government grain grant grass greeting gross guardian guasto guest guests
    guilt gust habitaciones habitat hair handicap handicapped handmade handwritten happiness happy hardship harm
    harmful harte harvest haste hausaufgaben haut hazard head headache headcount health healthy hearing heat
    heating hectare hedged heiss helder hell heritage heteroscedastic hidden highway hijos hint hints hired
    history hit hits hoch hombre homeless homem homme hoog horizon hospitalized hot housing huge humid hunger
    hungry hurry huur hydration hygiene hypertension ice icon idiom idiomatic idle illegal illegible illiterate
    illness immer immigrant implicit imported improved inbound incident incidents inclination incoming incumbent
    indoor industrial infected infection inferred inflation inflow influence informal information infrastructure
    ingreso ingresos inherited initial injured injuries injury inkomen inmate inquiry insect inspected
    inspection instructor insurance insured intake intended intense intensity interest interests interim
    interior intermediate international interrupted intersection interval intervention interview invasive
    inventory invested investment invited involved irony irradiance irrelevant irrigated irrigation isolated
    issue issues item jargon jeune job jobs joined jong journey jovem joven judged jump junior kalt kamers kapot
    keyword keywords kinder kinderen klacht klausur klein kort koud krank kurz laag label labeled labelled
    labour landed landlord landscape lang larga largo late lateness laundry laut law lawaai lawn lead leaf
    league leave ledig leeg leftover legacy legal legible legs lehrer leicht leise leistung leisure lender
    leverage liability liberal licence license life lifetime lift lighting lightning likes limpio limpo linked
    liquid liquidity listed literal literate lleno lluvia load loaded loan locked log logged lohn lonely longest
    longo loose lot lots loudness loyal loyalty loyer luggage lumber lunch lungo luxury machine machines
    magnitude mahnung main mainstream maintenance major makkelijk mala male malformed malicious malignant malo
    man manager mann mannlich map marathon margin marginal marie maritime marked marketing marriage mass mastery
    match matched matches material maternal mathematical maturity mauvais meal meals means median medical
    meeting mehrdeutig members membership memorized memory menu metaphor metastasis midnight miete migrant mild
    mileage mineral minor minority mislabeled misleading missed misses misspelled mistake mistakes mixture
    mobility moderate modified moist moisture mojado molhado moment money monitored monthly mortality mortgage
    motion motivated motivation motor mouille movement moving mujer mulher multipart multistep mundlich
    municipal muscle mutated mutation nachhilfe name names narrow nass nat nation natural naval nearby neatness
    negated negation negative neige neighbourhood neighbours nervous net neukunde neutral neve newborn newcomer
    newcomers news nichtraucher nie niedrig nieve node nodes noise noisy nonempty nonsense noon notes
    notice notification novel number numeric nutrient nutrition obese obesity obfuscated object objects
    obligation obscured observation observations obstacle obstacles occluded occlusion occupancy occupied
    occurrence odd odds odor offence offensive offer offers officer official offline offset oft often older
    ombra ombre onset oogst oov open opened opening openness operating operation opinion opponents opposition
    optimal optimum option optional options order ordered orders ordine organised orientation orphan oscuro
    outbound outbreak outcome outdoor outdoors outgoing outlet outlier outlook outstanding overdue overfit
    overflow overlap overload overtime overweight owned owner owners ownership pace packages packaging paese
    paid pain painful painting pair pairs panic panne parcel parcels parent parents parity parked parking parse
    parsing partial participation particle partner partners party passage passenger passengers passive password
    past patent patience pause pavement payload peak pedestrian pedestrians pedido pedidos peer penalties
    pending pension people percentage perfect performance permanent permission permit person personal persons
    perspective pest pesticide pet pets photo photos piano pieces pieno place plainte plaintiff
    planted plausible played plein plz poem poetic poison polite political pollen polluted pollution polysemous
    pool poor population porosity portion position positive possession possible post postal posted posts
    potential poverty power practised precedence prediction preference pregnancy pregnant prejudice
    preparation prepared prepayment prescribed presence presented preset pressed pretest previously prison
    privacy prize problem problems process processed produce producer product production products profane
    proficiency profitable progress promoted pronoun proofread property propre prosecuted protected protein
    protest proven province provision proximity pruefer prufer pueblo pulito punctual punctuation puncture pupil
    pupils purchase purchases pure purity purpose qualification qualified quarantine queixa queja quente queries
    query question questions queue queued quit quoted raccolto race racial radiation radius rain rainy raised
    rank rare rarely raten raucher raw reach reachable reached reaction readable readings ready real reality
    reason reasons reboot recall receipt received recession recipe reclamo recolte recommended record recorded
    recovered recovery recruit recurrence redacted reddito redoublant reduced redundant referral reform refugee
    refund refurbished refused regen region registered registration regulated regulation rehearsal reinheit
    rejection reklamation relapse related relation released relevance relevant reliability reliable religion
    religious relocated remaining remedial reminder reminders remote rendement rendimiento rendu renewal
    renovated rent renta rental rented repair repaired repairs repeated repetidor repetition replaced
    replacement replied reported reports request requested requests resa rescue reservation reserve reserved
    resident residents residue resistance resistant reso resource resources respiration respondents
    responsibility restart restaurant restless restricted retard retired retirement retracted retraso retrieved
    returned returning returns reuse revenu revenus reversed reversible reviews reward rework rhyme richter
    richtig riego ripe ripeness risky ritardo rival roker room rooms rotation roto rotto rough roughness royal
    rude ruido ruidosa ruidoso ruim ruling rumore rumoroso runoff rush sad safe safety salary sale sales
    salinity same sample samples sanction sarcasm sarcastic satellite satisfiable saturated saturation savings
    scale scandal scanned scarce scarcity scene schaduw schatten schedule scheduled schicht schnee scholarship
    schoon schriftlich schuld schulden schuler schwanger schwer scope scrap scratch screening scuro seal season
    seasonal seat seats sec secco seco second secondary secret secure security sediment seed seeded seeds
    seizure select selfish selten senior seniority sensible sensitive sensitivity sensor sentence sentences
    separated sequence series serious served services sessions settled setup severe sewage shallow shape shared
    shelter shifts shipped shipping shock shortage shots shower sibling siblings sick sickness sight signed
    signs silt similar simplicity simplified site size skill skilled skills skin skipped slack slang slangy
    slecht sleep sleepy slice slippery slope smell smile smoke smoker smokers smoking sneeuw snow snowfall snowy
    soap sold soldier sole soleil solo solteiro soltero solution solvable solvent sombra sombre sorted
    sound spacing span spare spatial speaker speakers specialist species specific specified speech speedy
    spelling spending spent spesa spike spoilage spoken sponsorship sporco sport sposato stability stable stad
    staff stain stairs stale stammkunde standing standstill stanze start state stationary statistics status stau
    stay steady steep steps sterile stiff stiffness stimulus stockwerk stolen stop stops storage storey storeys
    storing stormy storniert story straight strain stranded strange strecke strength stress strict strong
    structure student students study style subjective subscriber subscribers subset subsidy substance success
    sucio sudden suelo sufficient suitability suitable sujo sunlight sunrise sunset suolo superficie superior
    supervision supervisor supplied supplies supply support supported surface surname surplus surprise
    surprising surrounded survey survival survived surviving suspect suspended suspicious sustainable sweet
    swelling symmetric symmetry symptom symptoms syntax systolic tagged talent tall taxes teachers technical
    teeth temporary tenant tenants tendency tension tenure term terminal terms terrain territory terror tested
    tests texture theft thick thickness thin thirst thread threads threat tickets tidy tief tight timely times
    tips tired tissue tobacco tolerance tonnage topology touched tough tourism tourist tourists toxic traced
    traffic tragedy training transaction transactions transfer transferred transition translation transmission
    transparency trash trauma travelled tricky trimmed trip trips trocken trouble truncated tumor tumour turnout
    turnover typed typical typo typos uberstunden ugly ulcer umbrella umfang unanimous unanswered unbalanced
    unbekannt uncertain unclear underlying understanding undisputed unemployed unemployment unexpected unfair
    unfamiliar unfinished unique united unklar unknown unlabelled unlawful unpaid unread unrest unsafe unsat
    unseen unstable unsure unused unusual unverified uomo updates upgrade upset urbanised urgency urine urlaub
    usage used useful user users utilisation utilization vacancy vacant vacation vaccinated vaccination vacio
    vague valid validated validity valuable values vapor variability variables varied variety vars vazio
    vegetation ventilation verb verbal verbrauch verdict verheiratet verkehr vermogen verse verspatet verspatung
    vertical vertices vertraging veteran viable vide viewers viewpoint ville violence violent viral virus
    viscosity visibility visible vision visit visited visitor visitors visits visual vital vocabulary voice vol
    volatile voltage voluntary volunteer volunteers vorbehandelt vorerkrankung vorkenntnisse vorwissen vote
    voters votes vrouw vuil vulgar vulnerable vuoto wages wahr waiting wall war warm warme warmth warning
    warnings warranty waste wasted watched watermarked weak weakness wealth weapon wear weather wedding weed
    weeds weekday weekly weiblich welfare well werktag wet wetness wheel wheelchair wide widow wild wildlife win
    wing wishes witness wohnflache woman women wooden word workers working workload workplace world worn worried
    worth wound wounded wrapped written yaw yield yields young youth zero zimmer zins zon zone zoning zoom
"""
